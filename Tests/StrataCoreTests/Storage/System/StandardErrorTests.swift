import Foundation
import StrataCore
import Testing

#if os(Linux)
  /// What the library says where nobody can catch an error goes to standard error. Where that cannot be written it is lost, and the program goes on.
  struct StandardErrorTests {
    enum Obstacle: Int, CaseIterable {
      case pipeWithoutReader, pipeWithoutReaderIgnored, fullDisk, closed, fullPipe, fileOfTheLargestSize

      /// Puts it in the place of standard error.
      func put() throws {
        var ends: [Int32] = [-1, -1]
        switch self {
        case .pipeWithoutReader, .pipeWithoutReaderIgnored:
          signal(SIGPIPE, self == .pipeWithoutReader ? SIG_DFL : SIG_IGN)
          try #require(pipe(&ends) == 0)
          dup2(ends[1], STDERR_FILENO)
          close(ends[0])
        case .fullDisk: dup2(open("/dev/full", O_WRONLY), STDERR_FILENO)
        case .closed: close(STDERR_FILENO)
        case .fullPipe:
          try #require(pipe(&ends) == 0)
          _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
          let bytes = [UInt8](repeating: 0, count: 4_096)
          while write(ends[1], bytes, bytes.count) > 0 {}
          dup2(ends[1], STDERR_FILENO)
        case .fileOfTheLargestSize:
          let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).log")
          let file = open(path.path, O_WRONLY | O_CREAT, 0o600)
          try #require(file >= 0)
          unlink(path.path)
          var limit = rlimit()
          getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
          limit.rlim_cur = 8
          setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
          dup2(file, STDERR_FILENO)
        }
      }
    }

    @Test(arguments: Obstacle.allCases)
    func aMessageThatCannotBeWrittenIsLost(_ obstacle: Obstacle) async {
      await #expect(processExitsWith: .exitCode(7)) { [number = obstacle.rawValue as Int] in
        // Threads of queues have one of them blocked.
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGPIPE, SIGXFSZ] { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        try Obstacle(rawValue: number)?.put()
        for _ in 0..<3 { Diagnostics.write("A message for people", .error) }
        var (pending, blocked) = (sigset_t(), sigset_t())
        sigpending(&pending)
        pthread_sigmask(SIG_BLOCK, nil, &blocked)
        let isAsBefore = [SIGPIPE, SIGXFSZ].allSatisfy {
          sigismember(&pending, $0) == 0 && sigismember(&blocked, $0) == 0
        }
        _exit(isAsBefore ? 7 : 8)
      }
    }
  }
#endif
