import Foundation
import Strata

/// A life of a `LawWorld` in fresh stores: the same for the same seed, as far as threads allow.
///
/// Even seeds have indexes, those that three divides two stores, and of four one has a controller's context of the main queue: call `run`
/// on another thread than the main one, which must be free for its queue.
public struct LawRound {
  /// How many steps a life has.
  public static let steps = 150

  private let folder: ScratchFolder
  private let world: LawWorld
  private let seed: UInt64
  /// How many edits of single objects were made.
  public private(set) var edits = 0
  /// How many changes controllers have reported, and of how many objects.
  public var reports: Int { world.reports }
  public var items: Int { world.items }

  public init(seed: UInt64) throws {
    self.seed = seed
    folder = try ScratchFolder()
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: LawModel.make(isIndexed: seed % 2 == 0))
    for name in seed % 3 == 0 ? ["first", "second"] : ["first"] {
      var description = PersistentStoreDescription(url: folder.url(name + ".strata"))
      description.durability = .none
      try coordinator.addPersistentStore(description)
    }
    world = try LawWorld(coordinator, seed: seed, onMainQueue: seed % 4 == 3)
  }

  /// Lives until all steps are done, or there were so many edits.
  ///
  /// - Throws: ``TortureViolation`` with what was reported and what was found, when the law did not hold.
  public mutating func run(edits limit: Int = .max) throws {
    for step in 0..<Self.steps where edits < limit {
      let failures: [String]
      do { failures = try world.step() } catch { failures = ["thrown: \(error)"] }
      edits += world.edits
      if failures.isEmpty { continue }
      throw TortureViolation(
        "step \(step): \(failures.prefix(4).joined(separator: "\n"))\nafter \(world.news)")
    }
  }
}
