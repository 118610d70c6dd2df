import Foundation
import Strata
import Testing

/// rule 227: a value that no store can hold, in a save that does not stop its context.
struct HugeValueSaveTests {
  private static func makeModel() -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription(
        "Photo",
        properties: [AttributeDescription("title", .string), AttributeDescription("image", .binaryData)])
    ])
  }

  @Test("An asynchronous save fails with object and property, too; the changes are pending again")
  func asynchronously() async throws {
    let store = try TemporaryStore(Self.makeModel())
    let context = ManagedObjectContext(.privateQueue, coordinator: store.coordinator)
    // Not written to and not read: such memory takes none.
    let count = (1 << 30) + 1
    let address = mmap(nil, count, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    let pointer = try #require(address == MAP_FAILED ? nil : address)
    let image = Data(bytesNoCopy: pointer, count: count, deallocator: .unmap)
    let entity = try #require(store.coordinator.managedObjectModel.entitiesByName["Photo"])
    await context.perform {
      let photo = ManagedObject(entity: entity, insertInto: context)
      photo.setValue("large", forKey: "title")
      photo.setValue(image, forKey: "image")
    }
    let error = await #expect(throws: CoreDataError.self) { try await context.saveAsynchronously() }
    #expect(error?.code == .managedObjectValidation)
    #expect(error?.userInfo[CoreDataError.Key.validationKey] as? String == "image")
    #expect(error?.errorDescription?.contains("Photo.image takes \(count) bytes") == true)
    try await context.perform {
      let photo = try #require(error?.userInfo[CoreDataError.Key.validationObject] as? ManagedObject)
      #expect(context.insertedObjects == [photo] && photo.value(forKey: "title") as? String == "large")
      photo.setValue(nil, forKey: "image")
    }
    try await context.saveAsynchronously()
    #expect(await context.perform { !context.hasChanges })
  }
}
