import Foundation

/// A `gzip -dc` child process that unpacks one file.
///
/// Started with `posix_spawn` and an empty signal mask: a child of Foundation's `Process` inherits the mask of the thread
/// that starts it, a thread of the dispatch library blocks SIGTERM, and so such a child can neither be ended nor awaited.
final class GzipProcess {
  /// The unpacked bytes.
  let output: FileHandle
  private let errors: FileHandle
  private var process: pid_t?

  /// - Throws: `FlightLogError` when there is no gzip.
  init(unpacking file: FileHandle) throws {
    let outputPipe = try Self.makePipe()
    let errorPipe = try Self.makePipe()
    defer {
      close(outputPipe.writing)
      close(errorPipe.writing)
    }
    output = FileHandle(fileDescriptor: outputPipe.reading, closeOnDealloc: true)
    errors = FileHandle(fileDescriptor: errorPipe.reading, closeOnDealloc: true)
    process = try Self.spawn([
      (file.fileDescriptor, STDIN_FILENO), (outputPipe.writing, STDOUT_FILENO),
      (errorPipe.writing, STDERR_FILENO),
    ])
  }

  deinit {
    guard let process else { return }
    kill(process, SIGKILL)
    _ = Self.wait(for: process)
  }

  /// Waits for the end of the child; what it complained of, nil when it was content.
  func finish() -> String? {
    guard let process else { return nil }
    let complaint = String(decoding: errors.readDataToEndOfFile(), as: UTF8.self)
    let status = Self.wait(for: process)
    self.process = nil
    if status == 0 { return nil }
    // Sentences of several lines become one.
    let words = complaint.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return words.isEmpty ? "gzip ended with status \(status)" : words
  }

  // MARK: -

  private static func spawn(_ descriptors: [(from: Int32, to: Int32)]) throws -> pid_t {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    for (from, to) in descriptors { posix_spawn_file_actions_adddup2(&actions, from, to) }
    var mask = sigset_t()
    sigemptyset(&mask)
    posix_spawnattr_setsigmask(&attributes, &mask)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let arguments: [String] = ["gzip", "-dc"]
    let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
    let strings = (arguments + environment).map { strdup($0) }
    defer { for string in strings { free(string) } }
    var process: pid_t = 0
    let code = posix_spawnp(
      &process, "gzip", &actions, &attributes, strings.prefix(arguments.count) + [nil],
      strings.dropFirst(arguments.count) + [nil])
    guard code == 0 else {
      throw FlightLogError("The program gzip cannot be started: \(String(cString: strerror(code))).")
    }
    return process
  }

  /// The child's exit code, or the signal that ended it.
  private static func wait(for process: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : status & 0x7F
  }

  /// A pipe that other child processes do not inherit.
  private static func makePipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw FlightLogError("No pipe can be made: \(String(cString: strerror(errno))).")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
