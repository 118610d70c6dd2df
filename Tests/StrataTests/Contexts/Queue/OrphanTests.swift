import Foundation
import Strata
import Testing

/// Objects that are let go of on other threads while their context lets go of them: what they point to ends with the last. For the sanitizers as well.
@Suite("Objects that outlive their context, on many threads")
struct OrphanTests {
  /// Unchecked: used by one thread, or by one task of the group, at a time.
  private final class Part: @unchecked Sendable {
    var objects: [ManagedObject] = []
  }

  /// A context and its objects, which several hold.
  ///
  /// Unchecked: each property is used by one thread, or by one task of the group, at a time.
  private final class Stand: @unchecked Sendable {
    var context: ManagedObjectContext?
    weak var model: ManagedObjectModel?
    let kept = Part()
    let parts = [Part(), Part(), Part()]

    init() throws {
      let leaf = EntityDescription("Leaf", properties: [AttributeDescription("name", .string)])
      let made = ManagedObjectModel(entities: [leaf])
      model = made
      let coordinator = PersistentStoreCoordinator(managedObjectModel: made)
      try coordinator.addPersistentStore(PersistentStoreDescription.inMemory)
      let new = ManagedObjectContext(.privateQueue, coordinator: coordinator)
      context = new
      let (kept, parts) = (self.kept, self.parts)
      try new.performAndWait { () throws in
        for number in 0..<60 {
          let object = try EntityDescription.insertNewObject(forEntityName: "Leaf", into: new)
          object.setValue("leaf \(number)", forKey: "name")
          // The same object in several parts: who lets go of it last differs.
          if number % 3 == 0 { kept.objects.append(object) }
          for (place, part) in parts.enumerated() where (number + place) % 4 != 0 {
            part.objects.append(object)
          }
        }
        try new.save()
        // Some have changes, and one has been deleted.
        for object in kept.objects.prefix(5) { object.setValue("changed", forKey: "name") }
        if let last = parts[0].objects.last { new.delete(last) }
      }
    }

    /// The context lets go of its objects.
    func part(_ parting: Parting) {
      if parting == .reset, let context { context.performAndWait { context.reset() } }
      context = nil
    }
  }

  enum Parting: CaseIterable {
    case end, reset
  }

  @Test(
    "Objects may be let go of on any thread while their context ends or is reset; those that are kept know their entity",
    arguments: Parting.allCases)
  func letGo(parting: Parting) async throws {
    for _ in 0..<40 {
      let stand = try Stand()
      await withTaskGroup(of: Void.self) { group in
        group.addTask { stand.part(parting) }
        for part in stand.parts { group.addTask { part.objects = [] } }
      }
      for (place, object) in stand.kept.objects.enumerated() {
        #expect(object.managedObjectContext == nil && object.entity.name == "Leaf")
        #expect(object.objectID.entityName == "Leaf")
        guard parting == .end else {
          #expect(object.isFault)
          continue
        }
        #expect(object.value(forKey: "name") as? String == (place < 5 ? "changed" : "leaf \(place * 3)"))
      }
      #expect(stand.model != nil)
      stand.kept.objects = []
      #expect(await eventually { stand.model == nil })
    }
  }
}
