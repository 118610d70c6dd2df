import CoreData
import Foundation
import Testing

@Suite("Conflicts that code makes and hands to a merge policy")
struct HandMadeConflictTests {
  /// Another context has changed the bird's name and weight, this context its name and tally.
  private func conflict(_ policy: NSMergePolicyType) throws -> (Bird, NSMergeConflict, NSManagedObjectContext)
  {
    let stand = try BirdStand()
    let mine = stand.context()
    let bird = BirdStand.bird("wren", 1, 1, nil, mine)
    try mine.save()
    let theirs = stand.context()
    let other = try theirs.existingObject(with: bird.objectID) as! Bird
    other.name = "theirs"
    other.weight = 9
    try theirs.save()
    bird.name = "mine"
    bird.tally = 5
    let conflict = NSMergeConflict(
      source: bird, newVersion: 2, oldVersion: 1, cachedSnapshot: ["name": "theirs"],
      persistedSnapshot: ["name": "kept"])
    try NSMergePolicy(merge: policy).resolve(optimisticLockingConflicts: [conflict])
    return (bird, conflict, mine)
  }

  @Test(
    "rules 191, 194–197: it has what it was made with, and each policy settles it with the stored row",
    arguments: [
      (NSMergePolicyType.mergeByPropertyStoreTrumpMergePolicyType, "theirs", 5 as Int64, 9 as Float),
      (.mergeByPropertyObjectTrumpMergePolicyType, "mine", 5, 9),
      (.overwriteMergePolicyType, "mine", 5, 1),
      (.rollbackMergePolicyType, "theirs", 1, 9),
    ])
  func settled(_ policy: NSMergePolicyType, _ name: String, _ tally: Int64, _ weight: Float) throws {
    let (bird, conflict, context) = try conflict(policy)
    #expect(
      conflict.sourceObject === bird && conflict.newVersionNumber == 2 && conflict.oldVersionNumber == 1)
    #expect(conflict.cachedSnapshot?["name"] as? String == "theirs")
    #expect(conflict.persistedSnapshot?["name"] as? String == "kept")
    #expect(conflict.objectSnapshot?["name"] as? String == "wren")
    // Settled: the save, which refuses conflicts, finds none.
    try context.save()
    context.refresh(bird, mergeChanges: false)
    #expect(bird.name == name && bird.tally == tally && bird.weight == weight)
  }

  @Test("Under the error policy it is thrown; of a new object there is nothing to settle")
  func thrown() throws {
    #expect(throws: (any Error).self) { _ = try conflict(.errorMergePolicyType) }
    let context = try BirdStand().context()
    let bird = BirdStand.bird("wren", 1, 1, nil, context)
    let made = NSMergeConflict(
      source: bird, newVersion: 0, oldVersion: 0, cachedSnapshot: nil, persistedSnapshot: nil)
    try NSMergePolicy.rollback.resolve(mergeConflicts: [made])
    try context.save()
    #expect(bird.name == "wren" && made.objectSnapshot == nil)
  }
}
