import Foundation
@_spi(Testing) import Strata
import Testing

/// Observers that save while what a batch, or another process, has changed is merged into their context part by part (contexts 16).
struct SavingObserverTests {
  /// How many rows are changed: more than are merged at a time.
  private static let count = 1_100
  /// What observers do in the midst of a merge: all of it first merges what waits.
  enum Act: CaseIterable, Sendable { case save, batch, mergeByHand }

  /// What was reported, and what failed.
  private let updated = Log<Set<ManagedObjectID>>()
  private let failures = Log<any Error>()

  /// Writes down the IDs of each did-merge notification of `context`, and does `act` on `name`.
  private func observe(_ context: ManagedObjectContext, _ name: Notification.Name, _ act: Act, _ times: Int)
    -> [any NSObjectProtocol]
  {
    let (observed, updated, failures) = (Smuggled(context), updated, failures)
    let left = Log<Void>()
    let recorder = NotificationCenter.default.addObserver(forName: .didMerge, object: context, queue: nil) {
      let key = ManagedObjectContext.NotificationKey.updatedObjectIDs.rawValue
      updated.add($0.userInfo?[key] as? Set<ManagedObjectID> ?? [])
    }
    let actor = NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { _ in
      guard left.list.count < times else { return }
      left.add(())
      do {
        switch act {
        case .save: try observed.value.save()
        case .batch:
          let request = FetchRequest<Entry>(entityName: "Entry", predicate: Attribute("location") == "none")
          try observed.value.execute(BatchDeleteRequest(fetchRequest: request))
        case .mergeByHand:
          ManagedObjectContext.mergeChanges(fromRemoteContextSave: [:], into: [observed.value])
        }
      } catch { failures.add(error) }
    }
    return [recorder, actor]
  }

  private func expectOnce(_ ids: Set<ManagedObjectID>) {
    #expect(failures.list.isEmpty)
    #expect(updated.list.reduce(0) { $0 + $1.count } == ids.count, "each row is reported once")
    #expect(updated.list.reduce(into: []) { $0.formUnion($1) } == ids)
  }

  @Test(
    "contexts 16: an observer may save, and execute a batch, while a sibling's batch is merged",
    arguments: Act.allCases, [Notification.Name.didChange, .didMerge])
  func whileABatchOfASiblingIsMerged(act: Act, name: Notification.Name) throws {
    let store = try TemporaryStore()
    let writer = store.context()
    for number in 0..<Self.count { Entry.make("\(number)", in: writer) }
    try writer.save()
    for (times, rating) in [(1, 4), (.max, 5)] {
      updated.removeAll()
      let reader = store.context(.privateQueue)
      reader.automaticallyMergesChangesFromParent = true
      let held = try reader.performAndWait { Smuggled(try reader.entries()) }
      reader.performAndWait { for entry in held.value { _ = entry.rating } }
      // A merge by hand is always reported, so one in each report would never end.
      let tokens = observe(reader, name, act, act == .mergeByHand ? 1 : times)
      defer { tokens.forEach(NotificationCenter.default.removeObserver) }
      try writer.execute(BatchUpdateRequest(entityName: "Entry", propertiesToUpdate: ["rating": rating]))
      // A commit that comes meanwhile is merged behind the batch.
      Entry.make("late \(rating)", in: writer)
      try writer.save()
      reader.performAndWait {
        #expect(held.value.allSatisfy { $0.rating == Int16(rating) })
        expectOnce(Set(held.value.map(\.objectID)))
      }
    }
  }
}
