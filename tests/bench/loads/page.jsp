<%@ page import="java.security.MessageDigest, java.util.*" %>
<%-- SPDX-License-Identifier: Apache-2.0 --%>
<%
	int n = Integer.parseInt(request.getParameter("n"));
	TreeMap<String, Integer> words = new TreeMap<>();
	Random random = new Random(n);
	for (int i = 0; i < n; i++)
		words.merge("word" + random.nextInt(500), 1, Integer::sum);
	MessageDigest digest = MessageDigest.getInstance("SHA-256");
	for (Map.Entry<String, Integer> word : words.entrySet())
		digest.update(String.format("%s=%d", word.getKey(), word.getValue()).getBytes("UTF-8"));
%>
<html><body>
<% for (Map.Entry<String, Integer> word : words.entrySet()) { %>
<p><%= word.getKey() %>: <%= word.getValue() %></p>
<% } %>
<p><%= Arrays.toString(digest.digest()) %></p>
</body></html>
