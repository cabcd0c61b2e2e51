"""`make audit`: known vulnerabilities, secrets in files, licences, and the bill of materials."""
