# SPDX-License-Identifier: Apache-2.0
# Serves one file of zeros on FUSE at argv[1]; once the file argv[2] exists, it answers no request of the kind
# argv[3], `open` (as without it) or `flush`, which each close() sends.
import ctypes, os, stat, struct, sys
folder, stop = sys.argv[1:3]
SILENT = 25 if sys.argv[3:] == ['flush'] else 14
dev = os.open('/dev/fuse', os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f'fd={dev},rootmode=40000,user_id=0,group_id=0,allow_other'
if libc.mount(b'silent', folder.encode(), b'fuse', 0, options.encode()):
    sys.exit(os.strerror(ctypes.get_errno()))
SIZE = 65536
def attr(inode):
    mode = stat.S_IFDIR | 0o755 if inode == 1 else stat.S_IFREG | 0o755
    return struct.pack('<QQQQQQIIIIIIIIII', inode, SIZE, SIZE // 512, 1, 1, 1, 0, 0, 0, mode, 1, 65534, 65534, 0, 4096, 0)
def answer(op, inode, body):
    if op == 26:  # INIT
        return struct.pack('<IIIIHHIII', 7, 31, 65536, 0, 16, 12, 65536, 1, 0) + bytes(32)
    if op == 1:  # LOOKUP
        return struct.pack('<QQQQII', 2, 0, 3600, 3600, 0, 0) + attr(2)
    if op == 3:  # GETATTR
        return struct.pack('<QII', 3600, 0, 0) + attr(inode)
    if op in (14, 27):  # OPEN, OPENDIR
        return struct.pack('<QII', 1, 0, 0)
    if op == 15:  # READ
        return bytes(min(SIZE, struct.unpack_from('<QQI', body)[2]))
    if op == 17:  # STATFS
        return bytes(80)
    if op in (18, 25, 29):  # RELEASE, FLUSH, RELEASEDIR
        return b''
    return None
print('ready', flush=True)
while True:
    request = os.read(dev, 1 << 20)
    _, op, unique, inode = struct.unpack_from('<IIQQ', request)
    if op in (2, 36, 42) or op == SILENT and os.path.exists(stop):  # FORGET, INTERRUPT
        continue
    body = answer(op, inode, request[40:])
    head = struct.pack('<IiQ', 16 + len(body or b''), 0 if body is not None else -38, unique)
    os.write(dev, head + (body or b''))
