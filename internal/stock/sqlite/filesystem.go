package sqlite

// The kinds of file systems that a check-up distinguishes.
const (
	fileSystemFUSE   = "FUSE"
	fileSystemMemory = "tmpfs"
)

func networkFileSystems() []string { return []string{"NFS", "SMB", "9P", "AFS", "Ceph", "Coda", "NCP"} }

// fileSystemName returns the name of a file system from its number in statfs(2), or "" if
// no rule needs it.
func fileSystemName(magic uint32) string {
	return map[uint32]string{
		0x6969:     "NFS",
		0x517b:     "SMB",
		0xfe534d42: "SMB",
		0xff534d42: "SMB",
		0x01021997: "9P",
		0x5346414f: "AFS",
		0x6b414653: "AFS",
		0x00c36400: "Ceph",
		0x73757245: "Coda",
		0x564c:     "NCP",
		0x65735546: fileSystemFUSE,
		0x01021994: fileSystemMemory,
		0x858458f6: fileSystemMemory, // ramfs
	}[magic]
}
