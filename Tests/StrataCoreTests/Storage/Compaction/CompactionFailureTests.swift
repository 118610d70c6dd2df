import Foundation
import Synchronization
import Testing

@testable import StrataCore

@Suite("A compaction that fails or is cut off")
struct CompactionFailureTests {
  /// The writes, the flushes of the data file, and what cuts it off, of a compaction: those that LMDB does not make by itself.
  final class Calls: Sendable {
    private struct State {
      var isArmed = false
      var count = 0
      var action: (@Sendable (Int) -> Int32)?
    }
    private let state = Mutex(State())

    /// From now on `action` is asked before each call, by its number from 1 on: 0, or the code with which the call fails.
    func arm(_ action: @escaping @Sendable (Int) -> Int32) {
      state.withLock { $0 = State(isArmed: true, count: 0, action: action) }
    }

    /// How many calls there were.
    @discardableResult
    func disarm() -> Int {
      state.withLock { state in
        defer { state = State() }
        return state.count
      }
    }

    private func code() -> Int32 {
      let due = state.withLock { state -> (Int, (@Sendable (Int) -> Int32)?) in
        guard state.isArmed else { return (0, nil) }
        state.count += 1
        return (state.count, state.action)
      }
      return due.1?(due.0) ?? 0
    }

    var fileSystem: FileSystem {
      var system = FileSystem.system
      system.write = { [write = system.write] descriptor, bytes, offset in
        let code = self.code()
        return code == 0 ? write(descriptor, bytes, offset) : Int(-code)
      }
      system.truncate = { [truncate = system.truncate] descriptor, size in
        let code = self.code()
        return code == 0 ? truncate(descriptor, size) : -code
      }
      system.syncStore = { [syncStore = system.syncStore] environment in
        let code = self.code()
        return code == 0 ? syncStore(environment) : code
      }
      return system
    }
  }

  private func options(_ calls: Calls, keepsLog: Bool) -> EnvironmentOptions {
    var options = EnvironmentOptions.compacted(keepsLog: keepsLog)
    options.fileSystem = calls.fileSystem
    return options
  }

  @Test("whichever call fails, the store has what it had, goes on, and is whole", arguments: [false, true])
  func failingCalls(keepsLog: Bool) throws {
    let directory = try ScratchDirectory()
    var number = 1
    var failures = 0
    while true {
      let calls = Calls()
      let path = directory("Failing \(number).strata")
      let environment = try Environment.open(path: path, options: options(calls, keepsLog: keepsLog))
      let left = try CompactedStore.fill(environment, count: 400, keeping: 20)
      let failing = number
      calls.arm { $0 == failing ? EIO : 0 }
      var error: (any Error)?
      do { _ = try environment.compact(slack: 0) } catch let thrown { error = thrown }
      let count = calls.disarm()
      if count >= number {
        // Some write needs no success: the old anchor put back, the system asked to take room.
        if let error = error as? StorageError {
          failures += 1
          #expect(error.kind == .io, "call \(number): \(error)")
        }
      }
      try CompactedStore.require(left, in: environment)
      try environment.put(environment.keyspace("other"), "after", "failure \(number)")
      try environment.requireSound()
      _ = try environment.compact(slack: 0)
      try environment.requireSound()
      try CompactedStore.require(left, in: environment)
      environment.close()
      let again = try Environment.open(path: path, options: options(calls, keepsLog: keepsLog))
      try CompactedStore.require(left, in: again)
      #expect(try again.get(again.keyspace("other"), "after") == "failure \(number)")
      try again.requireSound()
      again.close()
      if count < number { break }
      number += 1
    }
    #expect(failures > 6)
  }

  @Test("whenever the process is killed, what it leaves is a whole store", arguments: [false, true])
  func killed(keepsLog: Bool) throws {
    let directory = try ScratchDirectory()
    let calls = Calls()
    let path = directory("Killed.strata")
    let environment = try Environment.open(path: path, options: options(calls, keepsLog: keepsLog))
    let left = try CompactedStore.fill(environment, count: 400, keeping: 20)
    calls.arm { number in
      for suffix in ["", "-log"] {
        let image = directory("Image \(number).strata") + suffix
        _ = try? FileManager.default.copyItem(atPath: path + suffix, toPath: image)
      }
      return 0
    }
    _ = try environment.compact(slack: 0)
    let count = calls.disarm()
    #expect(count > 10)
    environment.close()
    for number in 1...count {
      let image = directory("Image \(number).strata")
      let again = try Environment.open(path: image, options: .compacted(keepsLog: keepsLog))
      try CompactedStore.require(left, in: again)
      try again.requireSound()
      try again.put(again.keyspace("other"), "after", "kill \(number)")
      _ = try again.compact(slack: 0)
      try again.requireSound()
      try CompactedStore.require(left, in: again)
      again.close()
    }
  }

  @Test(
    "a process that goes on beside one that was killed writes on what there is", arguments: [false, true])
  func killedBesideAnother(keepsLog: Bool) throws {
    // The one that is killed is this one, whose calls fail from some point on without anything being put right.
    let directory = try ScratchDirectory()
    for number in 1..<30 {
      let calls = Calls()
      let path = directory("Beside \(number).strata")
      let environment = try Environment.open(path: path, options: options(calls, keepsLog: keepsLog))
      let left = try CompactedStore.fill(environment, count: 400, keeping: 20)
      calls.arm { $0 >= number ? EIO : 0 }
      _ = try? environment.compact(slack: 0)
      calls.disarm()
      try CompactedStore.require(left, in: environment)
      for save in 0..<5 { try environment.put(environment.keyspace("other"), "after \(save)", "kill") }
      try environment.requireSound()
      try CompactedStore.require(left, in: environment)
      environment.close()
      let again = try Environment.open(path: path, options: options(calls, keepsLog: keepsLog))
      try CompactedStore.require(left, in: again)
      #expect(try again.get(again.keyspace("other"), "after 4") == "kill")
      try again.requireSound()
      again.close()
    }
  }

  @Test("a process that is started meanwhile has the descriptor for a moment, and keeps nobody away")
  func copiedDescriptors() throws {
    let copies = Mutex<[Int32]>([])
    defer { for copy in copies.withLock({ $0 }) { close(copy) } }
    var options = EnvironmentOptions.compacted()
    options.fileSystem.close = { [close = options.fileSystem.close] descriptor in
      copies.withLock { $0.append(dup(descriptor)) }
      return close(descriptor)
    }
    try withEnvironment(options) { environment in
      _ = try CompactedStore.fill(environment, count: 400, keeping: 20)
      copies.withLock { copies in
        for copy in copies { close(copy) }
        copies = []
      }
      for _ in 0..<3 { _ = try environment.compact() }
      #expect(copies.withLock { $0.count } >= 3)
    }
  }
}
