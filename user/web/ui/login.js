// The server redirects here with ?wrong=1 after a token that is not valid.
const wrong = document.getElementById('wrong');

wrong.hidden = !new URLSearchParams(location.search).has('wrong');
