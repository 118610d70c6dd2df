import Foundation
import Strata
import StrataCore
import StrataPostgres
import TortureKit

// One of the processes that use a store on a server at once, and record what they do: see DisturbedProcessTests in PostgresTests.
//
//     PostgresWorker <address> <session> <seed> <transactions> <first> <seconds to wait> <reading> [checked] [overwriting]
//
// Says on standard output, line by line, each with one `write`:
//
//     open             the store is open; it waits for a line
//     intent <record>  what it is about to save, as if its outcome were unknown
//     record <record>  what has become of it
//     done             it has made all

@main
enum PostgresWorker {
  static func main() throws {
    let words = CommandLine.arguments.dropFirst().map { $0 }
    guard words.count >= 7, let url = URL(string: words[0]), let session = Int(words[1]),
      let seed = UInt64(words[2]), let count = Int(words[3]), let first = Int(words[4]),
      let patience = Int(words[5]),
      let reading = RecordedTransaction.Reading(rawValue: words[6])
    else {
      say(
        "PostgresWorker needs: address session seed transactions first seconds reading [checked] [overwriting]"
      )
      exit(64)
    }
    endWithParent()
    var manner = RecordedTransaction.Manner(reading, checksReads: words.contains("checked"))
    manner.ignoresConflicts = words.contains("overwriting")
    var options = PostgresStoreOptions()
    options.timeout = .seconds(patience)
    options.createsStore = false
    let coordinator = PersistentStoreCoordinator(managedObjectModel: RecordedModel.make())
    do {
      let store = try open(coordinator, url, options)
      let sessions = RecordedSession(
        coordinator, manner, RecordedModel.Size(transactions: count), session: session, seed: seed,
        first: first)
      try work(sessions, count - first + 1, options.timeout)
      try coordinator.remove(store)
      say("done")
    } catch {
      say("error \(error)".replacing("\n", with: " "))
      exit(1)
    }
  }

  /// Opening is not tried again by the store itself: a server that is being started, or a session that is killed, fails it.
  static func open(_ coordinator: PersistentStoreCoordinator, _ url: URL, _ options: PostgresStoreOptions)
    throws -> any PersistentStore
  {
    let end = ContinuousClock.now + options.timeout
    while true {
      do {
        return try coordinator.addPostgresStore(at: url, options: options)
      } catch let error as StorageError where [.unreachable, .serverBusy].contains(error.kind) {
        guard ContinuousClock.now < end else { throw error }
        usleep(20_000)
      }
    }
  }

  static func work(_ session: RecordedSession, _ count: Int, _ patience: Duration) throws {
    var session = session
    say("open")
    var byte: UInt8 = 0
    guard read(STDOUT_FILENO, &byte, 1) == 1 else { return }
    var (made, lastSave) = (0, ContinuousClock.now)
    while made < count {
      var isSaving = false
      let record = try session.next {
        isSaving = true
        say("intent \(try $0.line)")
      }
      if isSaving {
        say("record \(try record.line)")
        made += 1
        lastSave = .now
      } else {
        // Nothing was read, so there is nothing to tell: reads are not repeated until a server is there again.
        guard ContinuousClock.now - lastSave < patience else {
          throw TortureViolation("no read has succeeded for \(patience): \(record.refusal ?? "")")
        }
        usleep(5_000)
      }
    }
  }

  static func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      if count < 0 && errno != EINTR { return }
      done += max(count, 0)
    }
  }

  /// Ends this process when the one that started it is gone.
  static func endWithParent() {
    Thread.detachNewThread {
      var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
      while poll(&output, 1, -1) >= 0 || errno == EINTR {
        if Int32(output.revents) & (POLLHUP | POLLERR | POLLNVAL) != 0 { _exit(1) }
      }
    }
  }
}
