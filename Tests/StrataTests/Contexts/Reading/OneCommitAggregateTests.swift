import Foundation
import Strata
import Testing
import TortureKit

/// An aggregate of all objects in a condition is of the commit in which objects are compared with it, whatever others save in between.
///
///     group x, rank 0      group y, rank 1      group z, rank 2
@Suite struct OneCommitAggregateTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(LawModel.make(isIndexed: true)) { $0.durability = .none }
    let writer = store.context()
    for (rank, name) in ["x", "y", "z"].enumerated() {
      let group = ResultsStand.make("Group", writer)
      group.setValue(name, forKey: "name")
      group.setValue(rank, forKey: "rank")
    }
    try writer.save()
    context = store.context()
  }

  /// Saves in another context: no group has the largest rank of before, y has a larger one.
  private func raise() throws {
    let writer = store.context()
    for group in try writer.fetch(FetchRequest<ManagedObject>(entityName: "Group")) {
      switch group.value(forKey: "name") as? String {
      case "y": group.setValue(9, forKey: "rank")
      case "z": group.setValue(0, forKey: "rank")
      default: break
      }
    }
    try writer.save()
  }

  private func largest<T: FetchRequestResult>(_ type: T.Type) throws -> FetchRequest<T> {
    FetchRequest<T>(entityName: "Group", predicate: try FetchPredicate(format: "rank == max(rank)"))
  }

  /// Inserts a group that is not saved: the value is found by looking at each object then.
  private func insertUnsaved() {
    let group = ResultsStand.make("Group", context)
    group.setValue("w", forKey: "name")
    group.setValue(-1, forKey: "rank")
  }

  private func names(_ objects: [ManagedObject]) -> [String] {
    objects.map { $0.value(forKey: "name") as? String ?? "nil" }
  }

  @Test("objects are compared with the largest value of their own commit", arguments: [false, true])
  func objects(hasUnsaved: Bool) throws {
    if hasUnsaved { insertUnsaved() }
    let request = try largest(ManagedObject.self)
    let found = try BetweenReads.run(of: context, raise) { try context.fetch(request) }
    #expect(found.count == 1)
    context.reset()
    if hasUnsaved { insertUnsaved() }
    // Nothing is held afterwards.
    #expect(try names(context.fetch(request)) == ["y"])
  }

  @Test("a count compares with the largest value of the commit that it counts", arguments: [false, true])
  func count(hasUnsaved: Bool) throws {
    if hasUnsaved { insertUnsaved() }
    let request = try largest(ManagedObject.self)
    #expect(try BetweenReads.run(of: context, raise) { try context.count(for: request) } == 1)
    #expect(try context.count(for: request) == 1)
  }

  @Test("rows of values are of the commit that the largest value is of", arguments: [false, true])
  func rows(isCount: Bool) throws {
    var request = try largest(FetchedDictionary.self)
    request.propertiesToFetch = ["name"]
    let count = try BetweenReads.run(of: context, raise) {
      try isCount ? context.count(for: request) : context.fetch(request).count
    }
    #expect(count == 1)
    #expect(try context.fetch(request).map { $0["name"] } == [.string("y")])
  }

  @Test("pages and batches of objects are of the commit that the largest value is of")
  func pieces() throws {
    let request = try largest(ManagedObject.self)
    let found = try BetweenReads.run(of: context, raise) { try context.fetchInBatches(request).count }
    #expect(found == 1)
    #expect(try context.fetchInBatches(request).count == 1)
  }
}
