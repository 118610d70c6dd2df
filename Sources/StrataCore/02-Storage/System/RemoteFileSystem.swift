import CLMDBShim
import Foundation

/// Recognises file systems on which LMDB cannot work: its locks and its shared map need one machine.
enum RemoteFileSystem {
  /// The kind of the remote file system below `descriptor`, nil for a local one or when it is unknown.
  static func kind(descriptor: Int32) -> String? {
    var type: UInt64 = 0
    guard strata_file_system_type(descriptor, &type) == 0 else { return nil }
    #if canImport(Darwin)
      return type == 0 ? nil : "network volume"
    #else
      if let name = magicNumbers[type] { return name }
      return type == fuse ? fuseKind(descriptor: descriptor) : nil
    #endif
  }

  #if !canImport(Darwin)
    /// Linux's magic numbers (statfs(2)) of file systems shared by several machines.
    static let magicNumbers: [UInt64: String] = [
      0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "SMB", 0xFE53_4D42: "SMB", 0x0102_1997: "9p",
      0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda", 0x00C3_6400: "Ceph",
      0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS", 0x0116_1970: "GFS2", 0x7461_636F: "OCFS2",
      0x786F_4256: "VirtualBox shared folder", 0x564C: "NCP", 0xBACB_ACBC: "VMware shared folder",
    ]

    private static let fuse: UInt64 = 0x6573_5546

    /// A FUSE mount on a block device is local (ntfs-3g, exfat); any other may be the far end of a network.
    private static func fuseKind(descriptor: Int32) -> String? {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { return "FUSE" }
      let device = UInt64(status.st_dev)
      let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
      let minor = device & 0xFF | (device >> 12) & ~0xFF
      guard let table = try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8) else {
        return "FUSE"
      }
      return fuseKind(major: major, minor: minor, mounts: table)
    }

    /// The kind that `mounts` (the text of /proc/self/mountinfo) gives to the device, nil when it is local.
    static func fuseKind(major: UInt64, minor: UInt64, mounts: String) -> String? {
      for line in mounts.split(separator: "\n") {
        let fields = line.split(separator: " ")
        guard fields.count > 6, fields[2] == "\(major):\(minor)" else { continue }
        // Fields after the lone dash: type, source, options.
        guard let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count else { continue }
        let type = String(fields[dash + 1])
        return type == "fuseblk" ? nil : type
      }
      return "FUSE"
    }
  #endif
}
