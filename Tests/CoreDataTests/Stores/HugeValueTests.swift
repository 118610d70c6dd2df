import CoreData
import Foundation
import Testing

/// rule 227: a value that no store can hold is not valid, and the error says of which object and property it is.
@Suite("Values over 1 GiB")
struct HugeValueTests {
  private static let limit = 1 << 30

  /// That many bytes of zeros, which take no memory: nobody has written to them, and nobody reads them.
  private static func huge(_ count: Int) throws -> Data {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    let address = mmap(nil, count, PROT_READ, flags, -1, 0)
    let pointer = try #require(address == MAP_FAILED ? nil : address)
    return Data(bytesNoCopy: pointer, count: count, deallocator: .unmap)
  }

  private static func makeContext() throws -> NSManagedObjectContext {
    let photo = NSEntityDescription()
    photo.name = "Photo"
    photo.properties = [
      ("title", NSAttributeType.stringAttributeType), ("image", .binaryDataAttributeType),
    ].map { name, type in
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType, attribute.isOptional) = (name, type, true)
      return attribute
    }
    let model = NSManagedObjectModel()
    model.entities = [photo]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    _ = try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    let context = NSManagedObjectContext(.confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private func error(_ body: () throws -> Void) -> NSError? {
    do { try body() } catch { return error as NSError }
    return nil
  }

  private func expect(_ error: NSError?, about photo: NSManagedObject?, _ count: Int) throws {
    let error = try #require(error)
    #expect(error.domain == NSCocoaErrorDomain && error.code == NSManagedObjectValidationError)
    #expect(error.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === photo)
    #expect(error.userInfo[NSValidationKeyErrorKey] as? String == "image")
    for part in ["Photo.image", "\(count)", "\(Self.limit)"] {
      #expect(error.localizedDescription.contains(part), "\(error.localizedDescription)")
    }
  }

  @Test("A save fails with 1550, object, property and size; nothing is lost, and a smaller value is saved")
  func saves() throws {
    let context = try Self.makeContext()
    let photo = NSEntityDescription.insertNewObject(forEntityName: "Photo", into: context)
    let data = try Self.huge(Self.limit + 1)
    // New, and then as a change of what is stored.
    for title in ["new", "changed"] {
      photo.setValue(title, forKey: "title")
      photo.setValue(data, forKey: "image")
      try expect(error { try context.save() }, about: photo, data.count)
      #expect(context.hasChanges && (photo.value(forKey: "image") as? Data)?.count == data.count)
      photo.setValue(Data([1, 2]), forKey: "image")
      try context.save()
      context.refreshAllObjects()
      #expect(photo.value(forKey: "image") as? Data == Data([1, 2]))
      #expect(photo.value(forKey: "title") as? String == title)
    }
  }

  @Test("A save to a parent fails alike, before the parent has anything of it")
  func childSaves() throws {
    let parent = try Self.makeContext()
    let child = NSManagedObjectContext(.confinementConcurrencyType)
    child.parent = parent
    let photo = NSEntityDescription.insertNewObject(forEntityName: "Photo", into: child)
    let data = try Self.huge(Self.limit + 9)
    photo.setValue(data, forKey: "image")
    try expect(error { try child.save() }, about: photo, data.count)
    #expect(!parent.hasChanges && child.hasChanges)
  }

  @Test("A batch insert says which record and which property it is")
  func batches() throws {
    let context = try Self.makeContext()
    let data = try Self.huge(Self.limit + 1)
    let request = NSBatchInsertRequest(
      entityName: "Photo", objects: [["title": "small"], ["title": "large", "image": data]])
    let error = self.error { _ = try context.execute(request) }
    try expect(error, about: nil, data.count)
    #expect(error?.localizedDescription.hasPrefix("Record 2: ") == true)
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Photo")) == 0)
  }
}
