import CoreData
import Foundation
import Testing

/// A part of an expression as Apple's Foundation archives it. A class for each that the archive is to name: see `archive(_:)`.
class ArchivedPart: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let type: Int
  let values: [String: Any]

  init(_ type: Int, _ values: [String: Any] = [:]) {
    self.type = type
    self.values = values
  }

  required init?(coder: NSCoder) { return nil }

  func encode(with coder: NSCoder) {
    coder.encode(type, forKey: "NSExpressionType")
    for (key, value) in values { coder.encode(value, forKey: key) }
  }
}

// With the module's they are as long as the names of Apple's.
final class Symbol: ArchivedPart {}
final class Route: ArchivedPart {}
final class KeyPathElement: ArchivedPart {}
final class Called: ArchivedPart {}
final class OneConstant: ArchivedPart {}
final class Listing: ArchivedPart {}

private func path(_ variable: String, _ path: String) -> ArchivedPart {
  Route(
    3,
    [
      "NSOperand": Symbol(2, ["NSVariable": variable as NSString]),
      "NSSelectorName": "valueForKey:" as NSString,
      "NSArguments": [KeyPathElement(10, ["NSKeyPath": path as NSString])] as NSArray,
    ])
}

/// Foundation writes the archive; only the names of the classes are exchanged, for ones of the same length, since its archiver takes no other names for them.
private func archive(_ part: ArchivedPart) -> String {
  let archiver = NSKeyedArchiver(requiringSecureCoding: false)
  archiver.outputFormat = .binary
  archiver.encode(part, forKey: NSKeyedArchiveRootObjectKey)
  archiver.finishEncoding()
  var data = archiver.encodedData
  let names: [(AnyClass, String)] = [
    (Symbol.self, "NSVariableExpression"), (Route.self, "NSKeyPathExpression"),
    (KeyPathElement.self, "NSKeyPathSpecifierExpression"), (Called.self, "NSFunctionExpression"),
    (OneConstant.self, "NSConstantValueExpression"), (Listing.self, "NSAggregateExpression"),
  ]
  for pair in names {
    let (here, there) = (NSStringFromClass(pair.0), pair.1)
    precondition(here.utf8.count == there.utf8.count || !data.contains(here.utf8), here)
    while let found = data.firstRange(of: here.utf8) { data.replaceSubrange(found, with: there.utf8) }
  }
  return data.base64EncodedString()
}

/// Doubles what it is given.
final class DoublingPolicy: NSEntityMigrationPolicy {
  override func value(ofFunction selector: String, arguments: [Any?]) throws -> Any? {
    guard selector == "twice:", let number = arguments[0] as? NSNumber else {
      return try super.value(ofFunction: selector, arguments: arguments)
    }
    return number.int64Value * 2
  }
}

@Suite("Mapping models as Xcode edits them")
struct MappingModelFileTests {
  private let folder: URL
  private let bundle: Bundle
  private let old: NSManagedObjectModel
  private let new: NSManagedObjectModel

  init() throws {
    folder = try Journal.makeFolder().appendingPathComponent("Zoo.bundle")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    bundle = try #require(Bundle(url: folder))
    let pen = """
      <entity name="Pen"><attribute name="place" optional="YES" attributeType="String"/>
      <relationship name="animals" optional="YES" toMany="YES" destinationEntity="Animal" inverseName="pen" \
      inverseEntity="Animal"/></entity>
      """
    let link = """
      <relationship name="pen" optional="YES" maxCount="1" destinationEntity="Pen" inverseName="animals" \
      inverseEntity="Pen"/>
      """
    old = try Self.write(
      "Zoo", folder,
      """
      <entity name="Animal"><attribute name="name" optional="YES" attributeType="String"/>
      <attribute name="legs" optional="YES" attributeType="Integer 64"/>\(link)</entity>\(pen)
      <entity name="Ticket"><attribute name="price" optional="YES" attributeType="Integer 64"/></entity>
      """)
    new = try Self.write(
      "Zoo 2", folder,
      """
      <entity name="Animal"><attribute name="title" optional="YES" attributeType="String"/>
      <attribute name="shout" optional="YES" attributeType="String"/>
      <attribute name="feet" optional="YES" attributeType="Integer 64"/>
      <attribute name="note" optional="YES" attributeType="String" defaultValueString="new"/>\(link)</entity>\(pen)
      """)
  }

  private static func write(_ name: String, _ folder: URL, _ entities: String) throws -> NSManagedObjectModel
  {
    let url = folder.appendingPathComponent("Zoo.xcdatamodeld/\(name).xcdatamodel")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    try Data(#"<model type="com.apple.IDECoreDataModeler.DataModel">\#(entities)</model>"#.utf8).write(
      to: url.appendingPathComponent("contents"))
    return try #require(NSManagedObjectModel(contentsOf: url))
  }

  private func attribute(_ name: String, _ value: String, _ type: String = "string") -> String {
    #"<attribute name="\#(name)" type="\#(type)">\#(value)</attribute>"#
  }

  private func references(_ name: String, _ identifiers: String) -> String {
    #"<relationship name="\#(name)" type="0/0" destination="X" idrefs="\#(identifiers)"></relationship>"#
  }

  private func object(_ type: String, _ identifier: String, _ content: String...) -> String {
    #"<object type="\#(type)" id="\#(identifier)">\#(content.joined())</object>"#
  }

  private func source(_ titleExpression: String, destination: String = "Zoo 2") -> String {
    let twice = archive(
      Called(
        4,
        [
          "NSOperand": Symbol(2, ["NSVariable": "entityPolicy" as NSString]),
          "NSSelectorName": "twice:" as NSString, "NSArguments": [path("source", "legs")] as NSArray,
        ]))
    let shout = archive(
      Called(
        4,
        [
          "NSOperand": OneConstant(0, ["NSConstantValue": "_NSPredicateUtilities" as NSString]),
          "NSSelectorName": "uppercase:" as NSString, "NSArguments": [path("source", "name")] as NSArray,
        ]))
    return """
      <?xml version="1.0" standalone="yes"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">
      <database>
      <databaseInfo><version>134481920</version><metadata><plist version="1.0"><dict><key>A</key>
      <string>b</string></dict></plist></metadata></databaseInfo>
      \(object("XDDEVATTRIBUTEMAPPING", "z1", attribute("name", "title"), attribute("valueexpressiondata", titleExpression, "binary")))
      \(object("XDDEVATTRIBUTEMAPPING", "z2", attribute("name", "feet"), attribute("valueexpressiondata", twice, "binary")))
      \(object("XDDEVATTRIBUTEMAPPING", "z3", attribute("name", "note"), attribute("autogenerateexpression", "1", "bool")))
      \(object("XDDEVATTRIBUTEMAPPING", "z9", attribute("name", "shout"), attribute("valueexpressiondata", shout, "binary")))
      \(object("XDDEVRELATIONSHIPMAPPING", "z4", attribute("name", "pen")))
      \(object("XDDEVENTITYMAPPING", "z5", attribute("sourcename", "Animal"), attribute("destinationname", "Animal"),
        attribute("mappingnumber", "2", "int16"), attribute("mappingtypename", "Undefined"),
        attribute("migrationpolicyclassname", "DoublingPolicy"),
        attribute("sourcefilterpredicatestring", "legs &lt; 100"), attribute("autogenerateexpression", "1", "bool"),
        references("attributemappings", "z1 z2 z3 z9"), references("relationshipmappings", "z4")))
      \(object("XDDEVATTRIBUTEMAPPING", "z6", attribute("name", "place")))
      \(object("XDDEVRELATIONSHIPMAPPING", "z11", attribute("name", "animals"), attribute("sourcemappingname", "AnimalToAnimal")))
      \(object("XDDEVENTITYMAPPING", "z7", attribute("sourcename", "Pen"), attribute("destinationname", "Pen"),
        attribute("mappingnumber", "10", "int16"), references("attributemappings", "z6"),
        references("relationshipmappings", "z11")))
      \(object("XDDEVENTITYMAPPING", "z12", attribute("sourcename", "Ticket"), attribute("mappingnumber", "11", "int16")))
      \(object("XDDEVMAPPINGMODEL", "z8", attribute("sourcemodelpath", "Zoo/Zoo.xcdatamodeld/Zoo.xcdatamodel"),
        attribute("destinationmodelpath", "Zoo/Zoo.xcdatamodeld/\(destination).xcdatamodel"),
        references("entitymappings", "z7 z5 z12")))
      </database>
      """
  }

  private func write(_ text: String, as name: String = "Zoo1to2.xcmappingmodel") throws -> URL {
    let url = folder.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url.appendingPathComponent("xcmapping.xml"))
    return url
  }

  @Test("A mapping model is found by its two models, and by the name of what Xcode would compile")
  func found() throws {
    #expect(NSMappingModel(from: [bundle], forSourceModel: old, destinationModel: new) == nil)
    let url = try write(source(archive(path("source", "name"))))
    let mapping = try #require(NSMappingModel(from: [bundle], forSourceModel: old, destinationModel: new))
    #expect(mapping.entityMappings.map(\.name) == ["AnimalToAnimal", "PenToPen", "Ticket"])
    #expect(
      mapping.entityMappings.map(\.mappingType)
        == [.customEntityMappingType, .copyEntityMappingType, .removeEntityMappingType])
    let animals = mapping.entityMappings[0]
    #expect(animals.entityMigrationPolicyClassName == "DoublingPolicy")
    #expect(animals.sourceEntityVersionHash == old.entityVersionHashesByName["Animal"])
    let expressions = (animals.attributeMappings ?? []).map { $0.valueExpression?.description }
    #expect(expressions.count == 4 && expressions[0] == "$source.name" && expressions[2] == nil)
    let names = ["AnimalToAnimal", "PenToPen", "Ticket"]
    #expect(NSMappingModel(contentsOf: url)?.entityMappings.map(\.name) == names)
    #expect(
      NSMappingModel(contentsOf: folder.appendingPathComponent("Zoo1to2.cdm"))?.entityMappings.map(\.name)
        == names)
    let compiled = bundle.url(forResource: "Zoo1to2", withExtension: "cdm")
    #expect(NSMappingModel(contentsOf: compiled)?.entityMappings.map(\.name) == names)
    // It is between these two only, in this direction.
    #expect(NSMappingModel(from: [bundle], forSourceModel: new, destinationModel: old) == nil)
    #expect(NSMappingModel(from: [bundle], forSourceModel: old, destinationModel: BirdStand.model()) == nil)
    #expect(NSMappingModel(from: [bundle], forSourceModel: nil, destinationModel: new) == nil)
    #expect(NSMappingModel(contentsOf: nil) == nil)
  }

  @Test("Two that are read from one file are equal by value; one with another expression or entity is not")
  func equality() throws {
    let url = try write(source(archive(path("source", "name"))))
    let (first, second) = (
      try #require(NSMappingModel(contentsOf: url)), try #require(NSMappingModel(contentsOf: url))
    )
    #expect(first !== second && first == second && first.hash == second.hash)
    #expect(first.entityMappings == second.entityMappings)
    let other = try write(source(archive(path("source", "legs"))), as: "Other.xcmappingmodel")
    #expect(try #require(NSMappingModel(contentsOf: other)) != first)
    let again = try write(source(archive(path("source", "name"))), as: "Again.xcmappingmodel")
    #expect(NSMappingModel(contentsOf: again) == first)
    second.entityMappings[0].name = "other"
    #expect(first != second)
  }

  @Test("A store is migrated by it: expressions, a policy by name, a filter, relationships")
  func migrated() throws {
    _ = try write(source(archive(path("source", "name"))))
    let mapping = try #require(NSMappingModel(from: [bundle], forSourceModel: old, destinationModel: new))
    let (here, there) = (
      folder.appendingPathComponent("Zoo.sqlite"), folder.appendingPathComponent("Zoo2.sqlite")
    )
    func open(_ model: NSManagedObjectModel, _ url: URL, _ body: (NSManagedObjectContext) throws -> Void)
      throws
    {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let store = try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
      let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      try body(context)
      try coordinator.remove(store)
    }
    try open(old, here) { context in
      let pen = NSEntityDescription.insertNewObject(forEntityName: "Pen", into: context)
      pen.setValue("north", forKey: "place")
      for (name, legs) in [("owl", 2), ("millipede", 200), ("fox", 4)] {
        let animal = NSEntityDescription.insertNewObject(forEntityName: "Animal", into: context)
        animal.setValue(name, forKey: "name")
        animal.setValue(legs, forKey: "legs")
        animal.setValue(pen, forKey: "pen")
      }
      try context.save()
    }
    try NSMigrationManager(sourceModel: old, destinationModel: new).migrateStore(
      from: here, sourceType: NSSQLiteStoreType, with: mapping, toDestinationURL: there,
      destinationType: NSSQLiteStoreType)
    try open(new, there) { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Animal")
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      let animals = try context.fetch(request)
      #expect(animals.map { $0.value(forKey: "title") as? String } == ["fox", "owl"])
      #expect(animals.map { $0.value(forKey: "shout") as? String } == ["FOX", "OWL"])
      #expect(animals.map { $0.value(forKey: "feet") as? Int64 } == [8, 4])
      #expect(animals.map { $0.value(forKey: "note") as? String } == ["new", "new"])
      #expect(animals.map { $0.value(forKeyPath: "pen.place") as? String } == ["north", "north"])
    }
  }

  @Test(
    "What is no mapping model, or has what is not read, gives nil",
    arguments: [
      "", "<database></database>", "<model/>", "<database><object type='XDDEVMAPPINGMODEL' id='z1'/>",
      "<!DOCTYPE database [<!ENTITY a 'b'>]><database/>", "<!DOCTYPE database [ ]><database/>",
      "<database><object type='XDDEVMAPPINGMODEL' id='z1'/></database>",
    ])
  func refused(text: String) throws {
    let url = try write(text)
    #expect(NSMappingModel(contentsOf: url) == nil)
    #expect(NSMappingModel(from: [bundle], forSourceModel: old, destinationModel: new) == nil)
  }

  @Test("A missing model, an unknown entity and a value expression that is none give nil")
  func unreadable() throws {
    let good = archive(path("source", "name"))
    #expect(NSMappingModel(contentsOf: try write(source(good, destination: "Zoo 3"))) == nil)
    #expect(NSMappingModel(contentsOf: try write(source("AAAA"))) == nil)
    #expect(NSMappingModel(contentsOf: try write(source("%%%"))) == nil)
    #expect(NSMappingModel(contentsOf: try write(source(archive(Symbol(17))))) == nil)
    let unknown = source(good).replacingOccurrences(of: ">Pen<", with: ">Cage<")
    #expect(NSMappingModel(contentsOf: try write(unknown)) == nil)
    #expect(NSMappingModel(contentsOf: folder.appendingPathComponent("None.xcmappingmodel")) == nil)
    #expect(NSMappingModel(contentsOf: try write(source(good))) != nil)
  }

  /// `STRATA_SEED=n` repeats one.
  @Test("An archive that is nested too deeply, or damaged anywhere, is refused and does no harm")
  func damaged() throws {
    var list: NSArray = []
    for _ in 0..<34 { list = [list] }
    #expect(try expression(OneConstant(0, ["NSConstantValue": list])) == nil)
    // A class that is none of these is not made.
    #expect(try expression(ArchivedPart(0)) == nil)
    let whole = try #require(Data(base64Encoded: archive(path("source", "name"))))
    for length in stride(from: 40, to: whole.count, by: 40) {
      let cut = source(whole.prefix(length).base64EncodedString())
      #expect(NSMappingModel(contentsOf: try write(cut)) == nil)
    }
    let seed =
      ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...9_999)
    print("damaged archives: seed \(seed)")
    var state = seed
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    for _ in 0..<80 {
      var bytes = whole
      for _ in 0...random(3) { bytes[random(bytes.count)] = UInt8(random(256)) }
      // Some changes leave an archive: of another path, for instance.
      _ = NSMappingModel(contentsOf: try write(source(bytes.base64EncodedString())))
    }
  }

  private func expression(_ part: ArchivedPart) throws -> CoreData.NSExpression? {
    let mapping = NSMappingModel(contentsOf: try write(source(archive(part))))
    return mapping?.entityMappings[0].attributeMappings?[0].valueExpression
  }

  @Test("Constants and lists of expressions are read")
  func constants() throws {
    let cases: [(Any, String)] = [
      ("äöü 😀 text" as NSString, "äöü 😀 text"), (NSNumber(value: -7), "-7"),
      (NSNumber(value: 300_000), "300000"), (NSNumber(value: 2.5), "2.5"),
    ]
    for (constant, text) in cases {
      let read = try #require(try expression(OneConstant(0, ["NSConstantValue": constant]))).constantValue
      #expect(read.map { "\($0)" } == text)
    }
    let aggregate = try #require(
      try expression(Listing(14, ["NSCollection": [path("source", "name")] as NSArray])))
    #expect(aggregate.expressionType == .aggregate)
  }
}
