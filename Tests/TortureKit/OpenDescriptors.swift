#if os(Linux)
  import Foundation

  /// The descriptors of this process.
  public enum OpenDescriptors {
    /// Opens as many as the system permits, at most 256, but for `spare`. They stay open: for a process of its own.
    public static func takeAll(but spare: Int) {
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      limit.rlim_cur = min(limit.rlim_cur, 256)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      var taken: [Int32] = []
      while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 { taken.append(descriptor) }
      for descriptor in taken.suffix(spare) { close(descriptor) }
    }
  }
#endif
