import Foundation
import Strata
import Testing

/// rule 332: `/dev/null` is a store in memory.
@Suite struct MemoryStoreTests {
  @Test func theNullDeviceIsAStoreInMemory() throws {
    let note = EntityDescription("Note", properties: [AttributeDescription("title", .string)])
    let coordinator = PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel(entities: [note]))
    let null = URL(fileURLWithPath: "/dev/null")
    let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: null))
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    ManagedObject(entity: note, insertInto: context).setValue("kept", forKey: "title")
    try context.save()
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Note")) == 1)
    #expect(store.url == nil)
    let direct = try LMDBStore(
      url: null,
      schema: ManagedObjectModel(entities: [
        EntityDescription("Note", properties: [AttributeDescription("title", .string)])
      ]).schema())
    direct.close()
  }
}
