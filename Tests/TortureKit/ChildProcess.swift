import Foundation

/// A child process that can be killed at any moment, with a connection to its standard output.
///
/// Foundation's `Process` needs threads and a run loop of its own; here nothing lies between the test and the kill.
public final class ChildProcess {
  public let identifier: pid_t
  private var output: Int32
  private var rest = Data()
  /// How it has ended, as `waitpid` tells it. Its number may be another process's from then on.
  private var ending: Int32?

  /// Writes a program's text to `path`, from where it can be started.
  ///
  /// It is put there by a process of its own: a child that another test starts meanwhile would inherit our open descriptor, and as long as it
  /// has that, the program cannot be started ("text file busy").
  public static func write(program text: String, to path: String) throws {
    let draft = path + ".draft"
    try Data(text.utf8).write(to: URL(fileURLWithPath: draft))
    let copy = try Process.run(
      URL(fileURLWithPath: "/bin/sh"),
      arguments: ["-c", "cp \"$1\" \"$2\" && chmod 755 \"$2\" && rm \"$1\"", "sh", draft, path])
    copy.waitUntilExit()
    guard copy.terminationStatus == 0 else { throw CocoaError(.fileWriteUnknown) }
  }

  /// Starts the program at `path`. Its standard error goes where ours goes.
  public init(_ path: String, _ arguments: [String]) throws {
    var pipe: [Int32] = [-1, -1]
    // Closed in children of other tests, which could hold the connection open otherwise.
    #if os(Linux)
      let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    guard socketpair(AF_UNIX, kind, 0, &pipe) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    for end in pipe { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO)
    var environment = ProcessInfo.processInfo.environment
    environment["SWIFT_BACKTRACE"] = "enable=no"
    let words = ([path] + arguments).map { strdup($0) }
    let variables = environment.map { strdup("\($0.key)=\($0.value)") }
    defer { for text in words + variables { free(text) } }
    // A runner in the background may ignore the signal that stops a child, and threads of Dispatch block it.
    #if canImport(Darwin)
      var attributes: posix_spawnattr_t?
    #else
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    var blocked = sigset_t()
    sigemptyset(&blocked)
    posix_spawnattr_setsigmask(&attributes, &blocked)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var identifier: pid_t = 0
    let code = posix_spawn(&identifier, path, &actions, &attributes, words + [nil], variables + [nil])
    close(pipe[1])
    guard code == 0 else {
      close(pipe[0])
      throw POSIXError(.init(rawValue: code) ?? .EIO)
    }
    self.identifier = identifier
    output = pipe[0]
  }

  deinit {
    if ending == nil { kill() }
    close(output)
  }

  /// The next line, or nil when the child has ended and everything was read.
  public func readLine() -> String? {
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        defer { rest.removeSubrange(rest.startIndex...end) }
        return String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
      }
      var bytes = [UInt8](repeating: 0, count: 4_096)
      let count = read(output, &bytes, bytes.count)
      if count > 0 {
        rest.append(contentsOf: bytes.prefix(count))
      } else if count == 0 || errno != EINTR {
        return nil
      }
    }
  }

  /// Sends the child a line, which it reads from its standard output: that is a connection both ways. Nothing happens when it has ended.
  public func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    #if os(Linux)
      let flags = Int32(MSG_NOSIGNAL)
    #else
      let flags: Int32 = 0
    #endif
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes { send(output, $0.baseAddress, $0.count, flags) }
      if count < 0 && errno != EINTR { return }
      done += max(count, 0)
    }
  }

  /// Everything the child still has to say.
  public func readLines() -> [String] {
    var lines: [String] = []
    while let line = readLine() { lines.append(line) }
    return lines
  }

  /// Whether everything the child had to say was read, and it can say no more.
  public private(set) var isSilenced = false

  /// The lines that are there already, without waiting.
  public func linesAtHand() -> [String] {
    var lines: [String] = []
    while rest.contains(UInt8(ascii: "\n")) || Self.haveOutput([self], within: 0) {
      guard let line = readLine() else {
        isSilenced = true
        break
      }
      lines.append(line)
    }
    return lines
  }

  /// Waits until one of `children` has written something or ended. Returns false when the time is over.
  @discardableResult
  public static func haveOutput(_ children: [ChildProcess], within milliseconds: Int32) -> Bool {
    var polled = children.map { pollfd(fd: $0.output, events: Int16(POLLIN), revents: 0) }
    return poll(&polled, nfds_t(polled.count), milliseconds) > 0
  }

  /// Stops the child where it is, until `resume`.
  public func stop() { Foundation.kill(identifier, SIGSTOP) }
  public func resume() { Foundation.kill(identifier, SIGCONT) }

  /// Whether the child has stopped since the last time this was asked.
  public func hasStopped() -> Bool {
    var information = siginfo_t()
    // Without WEXITED: a child that ended is left to `wait`.
    let code = waitid(P_PID, id_t(identifier), &information, WSTOPPED | WNOHANG)
    return code == 0 && information.si_signo == SIGCHLD
  }

  /// Kills the child, which cannot do anything about it, and waits until it has ended; returns what `wait` does.
  @discardableResult
  public func kill() -> Int32 {
    if ending == nil { Foundation.kill(identifier, SIGKILL) }
    return wait()
  }

  /// Closes the connection, as happens when this process is killed.
  public func abandon() {
    close(output)
    output = -1
  }

  /// Whether the child has ended, without waiting.
  public func isGone() -> Bool {
    var status: Int32 = 0
    if ending == nil, waitpid(identifier, &status, WNOHANG) == identifier { ending = status }
    return ending != nil
  }

  /// Waits until the child has ended; returns its exit code, or 128 and the signal that ended it.
  @discardableResult
  public func wait() -> Int32 {
    var status = ending ?? 0
    if ending == nil {
      while waitpid(identifier, &status, 0) < 0 && errno == EINTR {}
      ending = status
    }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
  }

  /// The executable of that name beside the running program or test bundle.
  public static func program(_ name: String) -> String {
    var folder = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
    // On macOS the bundle's executable lies three folders down.
    while folder.path != "/", !FileManager.default.isExecutableFile(atPath: folder.path + "/" + name) {
      folder.deleteLastPathComponent()
    }
    return folder.path + "/" + name
  }
}
