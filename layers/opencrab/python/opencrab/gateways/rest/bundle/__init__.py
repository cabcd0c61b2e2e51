"""Routes that export an agent and take one in, part by part.

They never see the file itself: clients write and read it. Archives of memory alone lie in
`gateways/rest/memory`.
"""
