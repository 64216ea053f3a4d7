// The server redirects here with ?wrong=1 after a token that is not valid.
const wrong = document.getElementById('wrong');

// The page that asked for the login; the server opens only pages of its own.
document.getElementById('to').value = new URLSearchParams(location.search).get('to') || '';
wrong.hidden = !new URLSearchParams(location.search).has('wrong');
