import CoreData
import Testing

/// Expressions of mapping models that speak of what is not there, by Apple's names (rules 309, 310).
@Suite("Stories: mapping expressions")
struct MappingExpressionTests {
  private let folder: URL
  private let url: URL
  private var there: URL { folder.appendingPathComponent("New.sqlite") }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("mapping-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent("Birds.sqlite")
    let container = NSPersistentContainer(name: "Birds", managedObjectModel: Self.model())
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let nest = NSEntityDescription.insertNewObject(forEntityName: "Nest", into: context)
      nest.setValue("oak", forKey: "place")
      let bird = NSEntityDescription.insertNewObject(forEntityName: "Bird", into: context)
      bird.setValue("Pica pica", forKey: "name")
      bird.setValue(nest, forKey: "nest")
      try context.save()
    }
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
  }

  private static func model(_ more: String? = nil, isRenamed: Bool = false) -> NSManagedObjectModel {
    func attribute(_ name: String, before: String? = nil) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      attribute.name = name
      if let before { attribute.renamingIdentifier = before }
      attribute.attributeType = .stringAttributeType
      return attribute
    }
    let (bird, nest) = (NSEntityDescription(), NSEntityDescription())
    bird.name = "Bird"
    nest.name = "Nest"
    let (many, one) = (NSRelationshipDescription(), NSRelationshipDescription())
    (many.name, many.destinationEntity, many.inverseRelationship) = ("birds", bird, one)
    (one.name, one.destinationEntity, one.inverseRelationship) = ("nest", nest, many)
    one.maxCount = 1
    let name = isRenamed ? attribute("title", before: "name") : attribute("name")
    bird.properties = [name, one] + (more.map { [attribute($0)] } ?? [])
    nest.properties = [attribute("place"), many]
    let model = NSManagedObjectModel()
    model.entities = [bird, nest]
    return model
  }

  private func migrate(
    name: NSExpression? = nil, nest: NSExpression? = nil, source: NSExpression? = nil,
    members: NSExpression? = nil, policy: NSEntityMigrationPolicy.Type? = nil, to destination: URL? = nil
  ) throws {
    func property(_ name: String, _ value: NSExpression?) -> [NSPropertyMapping] {
      guard let value else { return [] }
      let mapping = NSPropertyMapping()
      mapping.name = name
      mapping.valueExpression = value
      return [mapping]
    }
    func entity(_ name: String) -> NSEntityMapping {
      let mapping = NSEntityMapping()
      mapping.name = "\(name)To\(name)"
      mapping.mappingType = .transformEntityMappingType
      mapping.sourceEntityName = name
      mapping.destinationEntityName = name
      return mapping
    }
    let (nests, birds) = (entity("Nest"), entity("Bird"))
    nests.attributeMappings = property("place", NSExpression(format: "$source.place"))
    nests.relationshipMappings = property("birds", members)
    birds.policyClass = policy
    birds.attributeMappings = property("name", name)
    birds.relationshipMappings = property("nest", nest)
    birds.sourceExpression = source
    let mapping = NSMappingModel()
    mapping.entityMappings = [nests, birds]
    let manager = NSMigrationManager(sourceModel: Self.model(), destinationModel: Self.model())
    try manager.migrateStore(
      from: url, sourceType: NSSQLiteStoreType, with: mapping, toDestinationURL: destination ?? there,
      destinationType: NSSQLiteStoreType)
  }

  private func refuse(
    _ words: String, name: NSExpression? = nil, nest: NSExpression? = nil, source: NSExpression? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    do {
      try migrate(name: name, nest: nest, source: source)
      Issue.record("what is wrong was carried out: \(words)", sourceLocation: sourceLocation)
    } catch let error as NSError {
      #expect(
        error.domain == NSCocoaErrorDomain && error.code == NSMigrationError, "\(error)",
        sourceLocation: sourceLocation)
      #expect(error.localizedDescription.contains(words), "\(error)", sourceLocation: sourceLocation)
    }
    #expect(!FileManager.default.fileExists(atPath: there.path), sourceLocation: sourceLocation)
  }

  private func call(_ target: String, _ name: String, _ arguments: Any...) -> NSExpression {
    NSExpression(
      forFunction: NSExpression(forVariable: target), selectorName: name, arguments: arguments)
  }

  @Test("rules 309, 310: key paths, variables, operators and functions that do not exist are 134110")
  func evaluated() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    refuse("no property “nothing”", name: NSExpression(format: "$source.nothing"))
    refuse("no property “nothing”", name: NSExpression(format: "$source.nest.nothing"))
    refuse("no property “nothing”", name: NSExpression(forKeyPath: "nothing"))
    refuse("$nobody", name: NSExpression(forVariable: "nobody"))
    refuse("nothing called “nobody”", name: NSExpression(format: "$manager.nobody"))
    refuse("@median", name: NSExpression(forKeyPath: "nest.birds.@median.name"))
    refuse("no function “shout:”", name: NSExpression(forFunction: "shout:", arguments: ["x"]))
    refuse("no function “shout:”", name: call(NSMigrationManagerKey, "shout:", "x"))
    refuse("Objective-C runtime", name: call(NSMigrationSourceObjectKey, "shout:", "x"))
    refuse(
      "no property “nothing”", name: call(NSMigrationSourceObjectKey, "valueForKey:", "nothing"))
    try migrate(
      name: NSExpression(format: "uppercase:($source.nest.place)"), nest: nil)
  }

  @Test("rules 309, 310: relationships to mappings that do not exist, and constants, are 134110")
  func related() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let byName = "destinationInstancesForEntityMappingNamed:sourceInstances:"
    refuse(
      "no entity mapping “Nobody”",
      nest: call(NSMigrationManagerKey, byName, "Nobody", NSExpression(format: "$source.nest")))
    refuse(
      "no relationship “home”",
      nest: call(
        NSMigrationManagerKey, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "home",
        NSExpression(format: "$source.nest")))
    refuse("Bird.nest", nest: NSExpression(forConstantValue: "oak"))
    refuse("Bird.nest", nest: NSExpression(format: "$source.name"))
    refuse("destination", nest: NSExpression(format: "$source.nest"))
    try migrate(
      name: NSExpression(format: "$source.name"),
      nest: call(NSMigrationManagerKey, byName, "NestToNest", NSExpression(format: "$source.nest")))
  }

  @Test("rules 309, 310: source expressions of entities and predicates that do not exist are 134110")
  func sources() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    func fetch(_ entity: String, _ predicate: String) -> NSExpression {
      NSFetchRequestExpression.expression(
        forFetch: call(
          NSMigrationManagerKey, "fetchRequestForSourceEntityNamed:predicateString:", entity, predicate),
        context: NSExpression(format: "$manager.sourceContext"), countOnly: false)
    }
    refuse("no entity Nobody", source: fetch("Nobody", "TRUEPREDICATE"))
    refuse("cannot be read", source: fetch("Bird", "name =="))
    try migrate(name: NSExpression(format: "$source.name"), source: fetch("Bird", "name != 'x'"))
  }

  private final class ShoutingPolicy: NSEntityMigrationPolicy {
    override func value(ofFunction selector: String, arguments: [Any?]) throws -> Any? {
      guard selector == "shout:of:", let name = arguments[0] as? String,
        let source = arguments[1] as? NSManagedObject
      else { return try super.value(ofFunction: selector, arguments: arguments) }
      return "\(name.uppercased()), \(source.entity.name ?? "-")"
    }
  }

  /// The birds of a migration into a file of its own.
  private func migrated(
    name: String = "$source.name", nest: String? = nil, source: String? = nil, members: String? = nil,
    policy: NSEntityMigrationPolicy.Type? = nil
  ) throws -> [String] {
    let destination = folder.appendingPathComponent("\(UUID().uuidString).sqlite")
    try migrate(
      name: NSExpression(format: name), nest: nest.map { NSExpression(format: $0) },
      source: source.map { NSExpression(format: $0) }, members: members.map { NSExpression(format: $0) },
      policy: policy, to: destination)
    return try Self.birds(at: destination, Self.model(), name: "name")
  }

  @Test("rule 310: FUNCTION of $manager, $entityPolicy and $source in format strings, and FETCH")
  func written() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    func related(_ function: String, _ name: String, _ key: String) -> String {
      "FUNCTION($manager, \"\(function)\" , \"\(name)\", $source.\(key))"
    }
    let byName = "destinationInstancesForEntityMappingNamed:sourceInstances:"
    let byRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
    #expect(try migrated() == ["Pica pica in -"])
    #expect(try migrated(nest: related(byName, "NestToNest", "nest")) == ["Pica pica in oak"])
    #expect(try migrated(nest: related(byRelationship, "nest", "nest")) == ["Pica pica in oak"])
    #expect(try migrated(members: related(byName, "BirdToBird", "birds")) == ["Pica pica in oak"])
    #expect(try migrated(members: related(byRelationship, "birds", "birds")) == ["Pica pica in oak"])

    let shout = #"FUNCTION($entityPolicy, "shout:of:" , $source.name, $source)"#
    #expect(try migrated(name: shout, policy: ShoutingPolicy.self) == ["PICA PICA, Bird in -"])
    let place = #"FUNCTION($source, "valueForKeyPath:" , "nest.place")"#
    #expect(try migrated(name: place) == ["oak in -"])

    func fetch(_ predicate: String) -> String {
      "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\" , \"Bird\", "
        + "\"\(predicate)\"), $manager.sourceContext, NO)"
    }
    #expect(try migrated(source: fetch("TRUEPREDICATE")) == ["Pica pica in -"])
    #expect(try migrated(source: fetch("name == 'x'")) == [])
    for text in [related(byName, "NestToNest", "nest"), shout, fetch("name == 'x'")] {
      let expression = NSExpression(format: text)
      #expect(NSExpression(format: "\(expression)").description == expression.description)
    }
    refuse("no function “shout:”", name: NSExpression(format: #"FUNCTION($manager, "shout:", "x")"#))
    refuse("no entity mapping “Nobody”", nest: NSExpression(format: related(byName, "Nobody", "nest")))
  }

  /// A text that is renamed goes into a second file; an attribute that is added changes the file in place.
  /// What that left in pages without use before it failed is nothing that anybody reads.
  @Test(
    "a migration without room is NSFileWriteOutOfSpaceError, and the store stays", arguments: [true, false])
  func outOfSpace(isRenamed: Bool) async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = url.path
    let before = try Data(contentsOf: url)
    await #expect(processExitsWith: .success) { [path = path as String, isRenamed = isRenamed as Bool] in
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      limit.rlim_cur = 20_000
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      let error = #expect(throws: NSError.self) {
        try Self.birds(at: URL(fileURLWithPath: path), Self.model("more", isRenamed: isRenamed), name: "name")
      }
      #expect(error?.domain == NSCocoaErrorDomain)
      #expect(error?.code == NSFileWriteOutOfSpaceError && error?.code == 640, "\(String(describing: error))")
    }
    if isRenamed { #expect(try Data(contentsOf: url) == before) }
    #expect(try Self.birds(at: url, Self.model(), name: "name") == ["Pica pica in oak"])
    #expect(
      try Self.birds(
        at: url, Self.model("more", isRenamed: isRenamed), name: isRenamed ? "title" : "name")
        == ["Pica pica in oak"])
  }

  /// The birds of the store at `url`, opened with `model` and removed again.
  private static func birds(at url: URL, _ model: NSManagedObjectModel, name: String) throws -> [String] {
    let container = NSPersistentContainer(name: "Birds", managedObjectModel: model)
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    let context = container.newBackgroundContext()
    let birds = try context.performAndWait {
      try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Bird")).map { bird in
        let nest = bird.value(forKey: "nest") as? NSManagedObject
        return "\(bird.value(forKey: name) ?? "-") in \(nest?.value(forKey: "place") ?? "-")"
      }
    }
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
    return birds
  }
}
