import CoreData
import Foundation
import Testing

@testable import NSManagedSample

/// Properties that are declared as protocols, which Foundation's classes conform to and Swift's values do not; and properties that the model calls otherwise.
@Suite("@NSManaged properties of protocol types and of other names")
struct ProtocolTypeTests {
  private let context: NSManagedObjectContext

  init() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model())
    _ = try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  private static func model() -> NSManagedObjectModel {
    let keepsake = NSEntityDescription()
    keepsake.name = "Keepsake"
    keepsake.managedObjectClass = Keepsake.self
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      attribute.isOptional = true
      return attribute
    }
    let parts = NSRelationshipDescription()
    parts.name = "parts"
    parts.destinationEntity = keepsake
    parts.isOrdered = true
    let whole = NSRelationshipDescription()
    whole.name = "whole"
    whole.destinationEntity = keepsake
    whole.maxCount = 1
    parts.inverseRelationship = whole
    whole.inverseRelationship = parts
    keepsake.properties =
      ["thing", "copyable", "plain", "shown", "list", "table"].map {
        attribute($0, .transformableAttributeType)
      } + [
        attribute("count", .integer64AttributeType), attribute("label", .stringAttributeType), parts, whole,
      ]
    let model = NSManagedObjectModel()
    model.entities = [keepsake]
    return model
  }

  /// Saves, and has everything read from the store again.
  private func reload(_ keepsake: Keepsake) throws {
    try context.save()
    context.refresh(keepsake, mergeChanges: false)
  }

  @Test("Numbers, Booleans and all other values come as Foundation's objects")
  func values() throws {
    let keepsake = Keepsake(context: context)
    let values: [any NSObject & NSCoding & NSCopying] = [
      NSNumber(value: 3), NSNumber(value: true), NSNumber(value: 2.5), NSDecimalNumber(string: "1.25"),
      "text" as NSString, NSDate(timeIntervalSinceReferenceDate: 7), NSData(data: Data([1])),
      NSArray(array: [NSNumber(value: 1), "x" as NSString]),
      NSDictionary(dictionary: ["a": NSNumber(value: 1)]),
    ]
    for value in values {
      keepsake.thing = value
      keepsake.copyable = value
      keepsake.plain = value
      #expect((keepsake.thing as? NSObject)?.isEqual(value) == true, "\(value)")
      try reload(keepsake)
      #expect((keepsake.thing as? NSObject)?.isEqual(value) == true, "\(value)")
      #expect((keepsake.copyable as? NSObject)?.isEqual(value) == true, "\(value)")
      #expect((keepsake.plain as? NSObject)?.isEqual(value) == true, "\(value)")
      #expect((keepsake.primitiveThing as? NSObject)?.isEqual(value) == true, "\(value)")
    }
    keepsake.thing = nil
    #expect(keepsake.thing == nil)
  }

  @Test("A protocol of the program's that a class of Foundation's conforms to is enough, in any attribute")
  func ownProtocols() throws {
    let keepsake = Keepsake(context: context)
    keepsake.shown = NSNumber(value: 4)
    keepsake.count = NSNumber(value: 5)
    try reload(keepsake)
    #expect(keepsake.shown as? NSNumber == 4)
    #expect(keepsake.count as? NSNumber == 5)
  }

  @Test("Elements of arrays and entries of dictionaries are objects one by one")
  func elements() throws {
    let keepsake = Keepsake(context: context)
    let elements: [any NSObject & NSCoding] = [NSNumber(value: 1), "a" as NSString, NSNumber(value: true)]
    keepsake.list = elements
    keepsake.table = ["n": NSNumber(value: 1), "t": "x" as NSString]
    try reload(keepsake)
    let list = try #require(keepsake.list)
    #expect(list.count == 3 && zip(list, elements).allSatisfy { $1.isEqual($0) })
    let table = try #require(keepsake.table)
    #expect(table.count == 2 && table["n"] as? NSNumber == 1 && table["t"] as? NSString == "x")
  }

  @Test(
    "A property whose key a remark says is the model's of that key, and no property of Swift's stands before it"
  )
  func otherNames() throws {
    let (keepsake, part) = (Keepsake(context: context), Keepsake(context: context))
    #expect(keepsake._label == "")
    keepsake._label = "abc"
    keepsake.addToParts(part)
    #expect(part._whole === keepsake && keepsake._parts.count == 1)
    try reload(keepsake)
    #expect(keepsake.value(forKey: "label") as? String == "abc" && keepsake.label == 3)
    keepsake.setValue("ab", forKey: "label")
    #expect(keepsake._label == "ab")
    let request = NSFetchRequest<Keepsake>(entityName: "Keepsake")
    request.predicate = NSPredicate(format: "parts.@count == 1")
    request.sortDescriptors = [NSSortDescriptor(keyPath: \Keepsake._label, ascending: true)]
    #expect(try context.fetch(request) == [keepsake])
  }
}
