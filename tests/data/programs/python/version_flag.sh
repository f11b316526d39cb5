python3 --version | cut -d. -f1; python3 -c 'import sys; print(sys.version_info[0], sys.implementation.name, sys.byteorder)'
