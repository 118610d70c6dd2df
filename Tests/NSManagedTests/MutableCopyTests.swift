import CoreData
import Foundation
import Testing

@testable import NSManagedSample

/// Properties declared as Foundation's mutable classes: getters hand out copies.
@Suite("@NSManaged properties of mutable classes")
struct MutableCopyTests {
  private let context: NSManagedObjectContext

  init() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model())
    _ = try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  private static func model() -> NSManagedObjectModel {
    let binder = NSEntityDescription()
    binder.name = "Binder"
    binder.managedObjectClass = Binder.self
    let sheet = NSEntityDescription()
    sheet.name = "Sheet"
    sheet.managedObjectClass = Sheet.self
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      return attribute
    }
    func link(_ many: String, _ one: String, isOrdered: Bool) {
      let members = NSRelationshipDescription()
      members.name = many
      members.destinationEntity = sheet
      members.isOrdered = isOrdered
      let owner = NSRelationshipDescription()
      owner.name = one
      owner.destinationEntity = binder
      owner.maxCount = 1
      members.inverseRelationship = owner
      owner.inverseRelationship = members
      binder.properties.append(members)
      sheet.properties.append(owner)
    }
    binder.properties = [
      attribute("list", .transformableAttributeType), attribute("table", .transformableAttributeType),
      attribute("members", .transformableAttributeType), attribute("tags", .transformableAttributeType),
      attribute("label", .stringAttributeType), attribute("scan", .binaryDataAttributeType),
    ]
    sheet.properties = [attribute("number", .integer32AttributeType)]
    link("sheets", "binder", isOrdered: true)
    link("loose", "pocket", isOrdered: false)
    let model = NSManagedObjectModel()
    model.entities = [binder, sheet]
    return model
  }

  @Test(
    "An ordered relationship and a set come as mutable copies; setting them again changes the relationship")
  func relationships() throws {
    let binder = Binder(context: context)
    let (first, second) = (Sheet(context: context), Sheet(context: context))
    binder.sheets = NSMutableOrderedSet(array: [first, second])
    let sheets = try #require(binder.sheets)
    #expect(sheets.array as? [Sheet] == [first, second])
    sheets.removeObject(at: 0)
    #expect(binder.sheets?.count == 2 && first.binder === binder, "it is a copy")
    binder.sheets = sheets
    #expect(binder.sheets?.array as? [Sheet] == [second] && first.binder == nil)
    binder.loose = NSMutableSet(array: [first])
    let loose = try #require(binder.loose)
    loose.add(second)
    #expect(binder.loose?.count == 1)
    binder.loose = loose
    #expect(binder.loose?.count == 2 && second.pocket === binder)
    #expect(Binder(context: context).sheets?.count == 0)
  }

  @Test("Attributes come as mutable copies, of empty collections as well")
  func attributes() throws {
    let binder = Binder(context: context)
    #expect(binder.list == nil && binder.table == nil && binder.members == nil && binder.label == nil)
    binder.list = NSMutableArray(array: ["a"])
    binder.table = NSMutableDictionary(dictionary: ["k": 1])
    binder.members = NSMutableSet(array: ["m"])
    binder.label = NSMutableString(string: "l")
    binder.scan = NSMutableData(data: Data([1]))
    try context.save()
    context.refresh(binder, mergeChanges: false)
    let list = try #require(binder.list)
    list.add("b")
    #expect(list.count == 2 && binder.list == NSMutableArray(array: ["a"]))
    #expect(binder.primitiveList == NSMutableArray(array: ["a"]))
    let table = try #require(binder.table)
    table["n"] = 2
    #expect(table.count == 2 && binder.table?.count == 1 && binder.table?["k"] as? Int == 1)
    let members = try #require(binder.members)
    members.add("n")
    #expect(members.count == 2 && binder.members == NSMutableSet(array: ["m"]))
    let label = try #require(binder.label)
    label.append("!")
    #expect(label.isEqual(to: "l!") && binder.label?.isEqual(to: "l") == true && binder.scan?.length == 1)
    binder.list = NSMutableArray()
    binder.table = NSMutableDictionary()
    #expect(binder.list?.count == 0 && binder.table?.count == 0)
  }

  @Test("A set of texts is kept")
  func texts() throws {
    let binder = Binder(context: context)
    binder.tags = ["a", "b"]
    try context.save()
    context.refresh(binder, mergeChanges: false)
    #expect(binder.tags == ["a", "b"])
  }
}
