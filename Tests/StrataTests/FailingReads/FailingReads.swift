import Foundation
import ReadInterposer
import Strata
import Testing

/// Reads of the stores in one folder that are to fail, or transactions that are not to begin writing.
struct FailingReads {
  /// How many reads fail from the chosen one on.
  enum Extent: CaseIterable { case one, all }
  enum Kind { case reads, beginningsOfWrites }

  private let plan: Int32

  /// From now on the `nth` read below `folder` fails with EIO; with `.all` those after it fail, too.
  init(below folder: URL, nth: Int, _ extent: Extent, _ kind: Kind = .reads) throws {
    let resolved = realpath(folder.path, nil)
    defer { free(resolved) }
    let path = resolved.map { String(cString: $0) } ?? folder.path
    plan = (kind == .reads ? ri_arm : ri_arm_writes)(path, Int64(nth), extent == .all ? 1 : 0, EIO)
    try #require(plan >= 0, "too many plans")
  }

  /// Which read is to fail after the `nth`: each of the first six, then each tenth, others alone than with all after them. With `STRATA_LONG_TESTS=1` each.
  static func next(after nth: Int, _ extent: Extent) -> Int {
    if TortureSettings.isLong || nth < 6 { return nth + 1 }
    if nth == 6 { return extent == .one ? 8 : 13 }
    return nth + 10
  }

  /// Reads succeed again. Returns how many failed.
  func mend() -> Int { Int(ri_disarm(plan)) }
}

/// What a program does with a store, to be told with every read failing in turn.
struct ReadStory: Sendable {
  typealias Step = @Sendable (ReadWorld) throws -> Void

  /// Before reads fail: what is held, edited, pending.
  var prepare: Step = { _ in }
  /// What is done while a read fails.
  var act: Step
  /// What a failed act must have left, apart from what always holds.
  var failed: Step = { _ in }
  /// How the act is completed once reads succeed; nil to do it again.
  var complete: Step?
  /// What must be so in the end, apart from what is stored: that must be the same as when no read failed.
  var finished: Step = { _ in }
  /// Whether the act edits objects by itself: what they show in between is not compared then.
  var edits = false
  /// Whether the act may settle conflicts before a read fails: what the policy has decided for the objects then stays decided.
  var settles = false
  /// Whether the act may have changed the store although a read failed, which was told of then.
  var mayHaveSaved = false
}

/// Tells the story again and again: the first read fails, the second, and so on, alone or with all after it, until the story
/// ends before a read fails. Whatever happens, a failure is told of, nothing counts as deleted, held objects keep what they show,
/// edits are kept and the store is whole; and once reads succeed the story ends as it should.
@discardableResult
func forEveryFailingRead(
  recordsHistory: Bool = false, failing kind: FailingReads.Kind = .reads, _ story: ReadStory
) throws -> Int {
  var count = 0
  let undisturbed = try ReadWorld(recordsHistory: recordsHistory)
  try story.prepare(undisturbed)
  try story.act(undisturbed)
  #expect(undisturbed.takeFailures() == [])
  try story.finished(undisturbed)
  let result = try undisturbed.picture()
  for extent in FailingReads.Extent.allCases {
    var nth = 1
    while try tell(story, try ReadWorld(recordsHistory: recordsHistory), kind, nth, extent, result) {
      (nth, count) = (FailingReads.next(after: nth, extent), count + 1)
      try #require(nth < 2_000, "the story does not end")
    }
  }
  return count
}

/// Tells the story once. False when no read failed.
private func tell(
  _ story: ReadStory, _ world: ReadWorld, _ kind: FailingReads.Kind, _ nth: Int,
  _ extent: FailingReads.Extent, _ result: [String]
) throws -> Bool {
  let place: Comment = "\(kind) \(nth), \(extent)"
  func finish() throws {
    #expect(world.takeFailures() == [], place)
    try story.finished(world)
    #expect(try world.picture() == result, place)
    #expect(try world.store.problems() == [], place)
  }
  do {
    try story.prepare(world)
    let before = try world.picture()
    let shown = world.look()
    let edited = world.edits()
    let deleted = world.deleted()
    let reads = try FailingReads(below: world.store.folderURL, nth: nth, extent, kind)
    let error = failure { try story.act(world) }
    let fired = reads.mend()
    if fired == 0 {
      if let error { throw error }
      try finish()
      return false
    }
    let told = world.takeFailures()
    if let error {
      #expect((error as? StorageError)?.kind == .io, "\(place): \(error)")
    } else if told.isEmpty {
      // The read was not needed, or was made good: then all is as if it had not failed.
      try finish()
      return true
    }
    #expect(told.allSatisfy { $0 == .io }, place)
    if !story.edits && !story.settles {
      #expect(world.deleted() == deleted, place)
      #expect(world.changed(since: shown) == [], place)
      #expect(world.edits() == edited, place)
    }
    if !story.mayHaveSaved || error != nil { #expect(try world.picture() == before, place) }
    try story.failed(world)
    try (story.complete ?? story.act)(world)
    try finish()
  } catch {
    Issue.record(error, place)
  }
  return true
}

func failure(_ body: () throws -> Void) -> (any Error)? {
  do {
    try body()
    return nil
  } catch { return error }
}
