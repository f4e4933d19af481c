"""Prints the body of an URL. The server's certificate is not checked."""

import ssl
import sys
import urllib.request

context = ssl._create_unverified_context()
print(urllib.request.urlopen(sys.argv[1], context=context).read().decode())
