import Foundation

@testable import StrataCore

final class PlainObject: ManagedObject {}

/// A class that says nothing of its properties.
class SilentSlots: NSObject, SlotDeclaring {
  class var declaredSlots: [String]? { nil }
  class var namedSlots: [NamedSlot]? { nil }
  class var entityDeclaration: EntityDeclaration? { nil }
  class var ignoredProperties: [String] { [] }
}

final class TrueSlots: SilentSlots {
  override class var declaredSlots: [String]? { ["name", "age", "nickname"] }
}

final class WrongSlots: SilentSlots {
  override class var declaredSlots: [String]? { ["name", "nickname"] }
}

/// A model that uses everything descriptions can say (relationships included: not compilable yet).
func makeFullModel() -> ManagedObjectModel {
  let person = EntityDescription(
    "Person", isAbstract: true,
    properties: [
      AttributeDescription(
        "name", .string, isOptional: false, defaultValue: "n.n.",
        rules: [.minimumLength(1), .maximumLength(80, warning: "Too long."), .pattern("\\S.*")]),
      AttributeDescription("age", .integer16, defaultValue: 18, rules: [.minimum(0), .maximum(150)]),
      AttributeDescription("weight", .double, defaultValue: Double.nan),
      AttributeDescription("height", .float, defaultValue: Float(1.1)),
      AttributeDescription("salary", .decimal, defaultValue: Decimal(string: "-12345678901234567890.0123")),
      AttributeDescription("isMember", .boolean, defaultValue: true),
      AttributeDescription(
        "born", .date, defaultValue: Date(timeIntervalSinceReferenceDate: 0.1),
        rules: [.minimum(Date(timeIntervalSinceReferenceDate: -0.1), warning: "Before time began.")]),
      AttributeDescription("photo", .binaryData, defaultValue: Data([0, 255])),
      AttributeDescription("token", .uuid, defaultValue: UUID()),
      AttributeDescription("home", .uri, defaultValue: URL(string: "https://example.org/a%20b?c#d")),
      AttributeDescription("cache", .undefined, isTransient: true),
    ], uniquenessConstraints: [["name", "born"], ["token"]],
    indexes: [
      FetchIndexDescription(
        name: "byAge",
        elements: [
          FetchIndexElementDescription(propertyName: "age", isAscending: false),
          FetchIndexElementDescription(propertyName: "home", collationType: .rTree),
        ])
    ])
  let photo = person.attributesByName["photo"]
  photo?.allowsExternalBinaryDataStorage = true
  photo?.preservesValueInHistoryOnDeletion = true
  photo?.versionHashModifier = "photo modifier"
  photo?.renamingIdentifier = "picture"
  photo?.userInfo = [
    "unit": "bytes", "limit": 10, "nested": ["a": [1.5, true, "x"] as [Any]] as [String: Any],
  ]
  person.userInfo = ["written": Date(timeIntervalSinceReferenceDate: 3), "empty": "" as Any]
  person.versionHashModifier = "2"
  person.renamingIdentifier = "Human"
  let employee = EntityDescription(
    "Employee", managedObjectClass: PlainObject.self, properties: [AttributeDescription("desk", .integer64)])
  person.subentities = [employee]
  let company = EntityDescription("Company")
  let employees = RelationshipDescription(
    "employees", to: employee, minCount: 1, maxCount: 50, isOptional: false, isOrdered: true,
    deleteRule: .deny)
  let employer = RelationshipDescription("employer", to: company, maxCount: 1, deleteRule: .cascade)
  employees.inverseRelationship = employer
  employer.inverseRelationship = employees
  company.properties = [employees]
  employee.properties += [employer]
  let model = ManagedObjectModel(entities: [person, company])
  model.versionIdentifiers = ["v1", "first"]
  model.setEntities([person, employee], forConfigurationName: "People")
  model.setEntities([], forConfigurationName: "Nothing")
  return model
}

/// A small model that compiles: Item ← Book ← Comic, and Shelf.
func makeLibrary() -> ManagedObjectModel {
  let comic = EntityDescription(
    "Comic", properties: [AttributeDescription("artist", .string)],
    indexes: [FetchIndexDescription(name: "byArtist", attributes: ["artist", "title"])])
  let book = EntityDescription(
    "Book",
    properties: [
      AttributeDescription("pages", .integer32, defaultValue: 100),
      AttributeDescription("scratch", .string, isTransient: true), AttributeDescription("isbn", .string),
    ], uniquenessConstraints: [["isbn"]], subentities: [comic])
  let item = EntityDescription(
    "Item", isAbstract: true,
    properties: [
      AttributeDescription("title", .string, isOptional: false), AttributeDescription("bought", .date),
    ], indexes: [FetchIndexDescription(name: "byTitle", attributes: ["title"])], subentities: [book])
  let shelf = EntityDescription("Shelf", properties: [AttributeDescription("row", .integer16)])
  return ManagedObjectModel(entities: [item, shelf])
}
