import Foundation
import Strata
import Testing

/// Children come and go, and leave nothing behind.
struct ChildLeakTests {
  let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  /// Contexts that may be gone.
  private struct Remains { weak var context: ManagedObjectContext? }

  @Test(
    "a thousand children and grandchildren, saved or not, are gone with the last reference",
    arguments: [
      ConcurrencyType.privateQueue, .confinement,
    ])
  func childrenLeaveNothing(kind: ConcurrencyType) throws {
    try store.save("Bells", "Winki")
    let parent = store.context()
    var remains: [Remains] = []
    weak var lastObject: Entry?
    for round in 0..<1_000 {
      let child = ManagedObjectContext(kind, parent: parent)
      let grandchild = ManagedObjectContext(kind, parent: child)
      child.automaticallyMergesChangesFromParent = round % 2 == 0
      remains += [Remains(context: child), Remains(context: grandchild)]
      try grandchild.performAndWait {
        let entry = try grandchild.entry("Bells")
        entry.rating = Int16(round % 6)
        entry.mood = "round \(round)"
        lastObject = entry
        if round % 3 == 0 { Entry.make("never saved", in: grandchild) } else { try grandchild.save() }
      }
      if round % 5 == 0 { try child.performAndWait { try child.save() } }
      if round % 100 == 0 { try parent.save() }
      #expect(parent.registeredObjects.count <= 1)
    }
    // What a queue still had to do holds its context until it is done.
    for place in remains.indices { remains[place].context?.performAndWait {} }
    let deadline = Date(timeIntervalSinceNow: 600)
    while remains.contains(where: { $0.context != nil }), Date() < deadline {
      Thread.sleep(forTimeInterval: 0.01)
    }
    #expect(remains.allSatisfy { $0.context == nil })
    #expect(lastObject == nil)
    try parent.save()
    #expect(parent.registeredObjects.isEmpty)
    #expect(try parent.entryCount() == 2)
  }
}
