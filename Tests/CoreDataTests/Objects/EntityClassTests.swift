import CoreData
import Foundation
import Testing

/// Has something of its own, for which a plain object has no room.
final class RingedBird: NSManagedObject {
  var ring = "none"
}

@Suite("Objects made as NSManagedObject")
struct EntityClassTests {
  @Test("NSManagedObject(entity:insertInto:) gives an object of the entity's class")
  func ofTheEntitysClass() throws {
    let context = try BirdStand().context()
    let entity = try #require(NSEntityDescription.entity(forEntityName: "Bird", in: context))
    let object = NSManagedObject(entity: entity, insertInto: context)
    let bird = try #require(object as? Bird)
    bird.name = "wren"
    #expect(bird.shoutedName == "WREN" && type(of: object) == Bird.self)
    try context.save()
    context.reset()
    #expect(try names(nil, in: context) == ["wren"])

    let loose = NSManagedObject(entity: entity, insertInto: nil)
    #expect(loose is Bird)
    context.insert(loose)
    (loose as? Bird)?.name = "coot"
    try context.save()
    #expect(try names(nil, in: context) == ["coot", "wren"])
  }

  @Test(
    "A class with stored properties of its own cannot be given that way: the process stops and says what to write"
  )
  func withStoredProperties() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stand = try BirdStand { $0.entitiesByName["Bird"]?.managedObjectClass = RingedBird.self }
      let context = stand.context()
      guard let entity = NSEntityDescription.entity(forEntityName: "Bird", in: context) else { return }
      _ = NSManagedObject(entity: entity, insertInto: context)
    }
    let words = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(words.contains("RingedBird(entity:insertInto:)"))
  }
}
