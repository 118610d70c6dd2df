import Foundation
import Strata
import Testing
import TortureKit

/// A store of `LiveModel` that this process shows and another one writes to.
final class LiveStand: Sendable {
  let folder: TemporaryFolder
  let url: URL
  let coordinator: PersistentStoreCoordinator

  init(_ change: (inout PersistentStoreDescription) -> Void = { _ in }) throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("Live.strata")
    coordinator = try LiveModel.open(url, change)
    // On a busy machine a test may take longer than generations live by default.
    coordinator.queryGenerationLimit = .seconds(86_400)
  }

  deinit {
    for store in coordinator.persistentStores { try? coordinator.remove(store) }
    folder.remove()
  }

  /// A context that merges what others save.
  func context() -> ManagedObjectContext {
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    context.automaticallyMergesChangesFromParent = true
    return context
  }

  /// Another process changes the store, and has ended when this returns.
  func elsewhere(_ steps: String..., exitCode: Int32 = 0) throws {
    let child = try startElsewhere(steps)
    _ = child.readLines()
    #expect(child.wait() == exitCode)
  }

  func startElsewhere(_ steps: [String]) throws -> ChildProcess {
    try ChildProcess(ChildProcess.program("Torture"), ["live-writer", url.path] + steps)
  }

  /// Inserts notes here.
  func make(_ titles: String...) throws {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    for title in titles { Note(context: context).title = title }
    try context.save()
  }
}

/// A stack of its own on a file, which hears of what other processes commit: when it has heard, whoever follows the file has had the time to.
final class LiveWitness {
  private let coordinator: PersistentStoreCoordinator
  private let context: ManagedObjectContext
  private let heard: Heard<Int>

  init(_ url: URL) throws {
    coordinator = try LiveModel.open(url)
    context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    context.automaticallyMergesChangesFromParent = true
    heard = Heard(ManagedObjectContext.didMergeChangesObjectIDsNotification, of: context) { _ in 1 }
  }

  /// Waits for a commit of another process, and closes the store.
  func hasHeard() async throws {
    #expect(await eventually { !heard.all.isEmpty })
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }
}

/// Notifications of one name, as they come.
final class Heard<Value: Sendable>: @unchecked Sendable {
  // Safe: the values are under the lock, the token is set once.
  private let values = Guarded<[Value]>([])
  private var token: (any NSObjectProtocol)?

  init(_ name: Notification.Name, of object: AnyObject, _ value: @escaping @Sendable (Notification) -> Value?)
  {
    token = NotificationCenter.default.addObserver(forName: name, object: object, queue: nil) { [values] in
      if let value = value($0) { values.withLock { $0.append(value) } }
    }
  }

  deinit { if let token { NotificationCenter.default.removeObserver(token) } }

  var all: [Value] { values.withLock { $0 } }
}

/// Polls until `isTrue`; false when that has not come true in half a minute.
func eventually(_ isTrue: () async throws -> Bool) async rethrows -> Bool {
  for _ in 0..<3_000 {
    if try await isTrue() { return true }
    try? await Task.sleep(for: .milliseconds(10))
  }
  return false
}
