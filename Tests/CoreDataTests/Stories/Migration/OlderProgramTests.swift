import CoreData
import Testing

/// A program of the version before opens a store that a newer one has migrated, by Apple's names.
@Suite("Stories: an older program and a newer store")
struct OlderProgramTests {
  private let folder: URL
  private let url: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("older-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent("Log.sqlite")
  }

  private static func entity(_ name: String, _ attributes: String...) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.properties = attributes.map { name in
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = .stringAttributeType
      return attribute
    }
    return entity
  }

  private static func one() -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    model.entities = [entity("Flight", "number", "remark")]
    return model
  }

  private static func two() -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    model.entities = [entity("Flight", "number", "remark", "gate"), entity("Leg", "from", "to")]
    return model
  }

  /// Without remarks.
  private static func three() -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    model.entities = [entity("Flight", "number", "gate"), entity("Leg", "from", "to")]
    return model
  }

  private func load<R>(
    _ model: NSManagedObjectModel, _ configure: (NSPersistentStoreDescription) -> Void = { _ in },
    _ body: (NSManagedObjectContext) throws -> R
  ) throws -> R {
    let container = NSPersistentContainer(name: "Log", managedObjectModel: model)
    let description = NSPersistentStoreDescription(url: url)
    configure(description)
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    defer {
      for store in container.persistentStoreCoordinator.persistentStores {
        try? container.persistentStoreCoordinator.remove(store)
      }
    }
    let context = container.newBackgroundContext()
    return try context.performAndWait { try body(context) }
  }

  private func count(_ context: NSManagedObjectContext, _ entity: String) throws -> Int {
    try context.count(for: NSFetchRequest<NSManagedObject>(entityName: entity))
  }

  private func fill() throws {
    try load(Self.one()) { context in
      for number in 0..<10 {
        let flight = NSEntityDescription.insertNewObject(forEntityName: "Flight", into: context)
        flight.setValue("\(number)", forKey: "number")
        flight.setValue("on time", forKey: "remark")
      }
      try context.save()
    }
    try load(Self.two()) { context in
      for number in 0..<500 {
        let leg = NSEntityDescription.insertNewObject(forEntityName: "Leg", into: context)
        leg.setValue("\(number)", forKey: "from")
      }
      try context.save()
    }
  }

  @Test(
    "rules 306, 309: a command of the older program that only counts is refused, and the newer program finds everything"
  )
  func story() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let before = try Data(contentsOf: url)
    do {
      _ = try load(Self.one()) { try count($0, "Flight") }
      Issue.record("the older program has taken the store apart")
    } catch let error as NSError {
      #expect(error.domain == NSCocoaErrorDomain && error.code == NSMigrationMissingSourceModelError)
      #expect(error.localizedDescription.contains("Leg (500 objects)"), "\(error)")
      #expect(error.userInfo["NSMigrationLosses"] as? [String: Int] == ["Leg": 500])
    }
    #expect(try Data(contentsOf: url) == before)
    #expect(try load(Self.two()) { try count($0, "Leg") } == 500)
  }

  @Test("options hand over models and permit losses by name, in descriptions and in dictionaries")
  func options() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    #expect(throws: CocoaError.self) { try load(Self.three()) { _ in } }
    #expect(try load(Self.three(), { $0.knownModels = [Self.two()] }) { try count($0, "Flight") } == 10)
    // Back, by a dictionary of options.
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.one())
    var options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      StrataKnownModelsOption: [Self.three()], StrataKeepsReplacedFilesOption: true,
    ]
    do {
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
      Issue.record("the store went back although it was here before")
    } catch let error as NSError {
      #expect(error.code == NSMigrationError)
    }
    options[StrataPermittedLossesOption] = ["Leg"]
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      _ = NSEntityDescription.insertNewObject(forEntityName: "Flight", into: context)
      try context.save()
    }
    try coordinator.remove(store)
    let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
      $0.contains("before")
    }
    #expect(
      kept.filter { !$0.hasSuffix("-lock") }.sorted() == ["Log.sqlite-before-1", "Log.sqlite-before-2"])
    try NSPersistentStoreCoordinator(managedObjectModel: Self.one()).destroyPersistentStore(
      at: url, ofType: NSSQLiteStoreType)
    // What is left is an empty store (rule 329).
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["Log.sqlite"])
  }

  @Test("descriptions keep the options through copies, and say what was set")
  func descriptions() throws {
    let description = NSPersistentStoreDescription(url: url)
    #expect(
      description.knownModels.isEmpty && description.permittedLosses == [] && !description.keepsReplacedFiles)
    let model = Self.one()
    description.knownModels = [model]
    description.permittedLosses = ["Leg", "Flight.gate"]
    description.keepsReplacedFiles = true
    let copy = try #require(description.copy() as? NSPersistentStoreDescription)
    #expect(copy.knownModels.first === model && copy.permittedLosses == ["Leg", "Flight.gate"])
    #expect(copy.keepsReplacedFiles)
    copy.permittedLosses = []
    #expect(copy.permittedLosses == [] && copy.options["StrataPermittedLosses"] == nil)
  }

  // MARK: Versions beside the model

  /// Writes a version of a model bundle, and makes it the current one.
  private func write(_ version: String, _ attributes: String...) throws {
    let bundle = folder.appendingPathComponent("Log.xcdatamodeld")
    let url = bundle.appendingPathComponent("\(version).xcdatamodel")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let entity = attributes.map { #"<attribute name="\#($0)" optional="YES" attributeType="String"/>"# }
      .joined()
    let text =
      #"<model type="com.apple.IDECoreDataModeler.DataModel"><entity name="Flight">\#(entity)</entity></model>"#
    try Data(text.utf8).write(to: url.appendingPathComponent("contents"))
    let current =
      #"<plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>\#(version).xcdatamodel</string></dict></plist>"#
    try Data(current.utf8).write(to: bundle.appendingPathComponent(".xccurrentversion"))
  }

  @Test(
    "rule 306: an attribute with values is dropped where the .xcdatamodeld has the version that the store is of",
    arguments: ["container", "coordinator"])
  func versionsBeside(who: String) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let bundle = folder.appendingPathComponent("Log.xcdatamodeld")
    func model() throws -> NSManagedObjectModel { try #require(NSManagedObjectModel(contentsOf: bundle)) }
    try write("Log", "number", "remark")
    try load(try model()) { context in
      let flight = NSEntityDescription.insertNewObject(forEntityName: "Flight", into: context)
      flight.setValue("LH 1", forKey: "number")
      flight.setValue("on time", forKey: "remark")
      try context.save()
    }
    try write("Log 2", "number")
    // The same model from code has nothing beside it.
    let alone = NSManagedObjectModel()
    alone.entities = [Self.entity("Flight", "number")]
    let before = try Data(contentsOf: url)
    do {
      try load(alone) { _ in }
      Issue.record("the remarks are gone")
    } catch let error as NSError {
      #expect(error.code == NSMigrationMissingSourceModelError)
      #expect(error.localizedDescription.contains("Flight.remark (1 object)"), "\(error)")
    }
    #expect(try Data(contentsOf: url) == before)
    if who == "container" {
      #expect(try load(try model()) { try count($0, "Flight") } == 1)
    } else {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try model())
      let store = try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: url,
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        ])
      try coordinator.remove(store)
    }
    let entities = try #require(
      try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url)[
        NSStoreModelVersionHashesKey] as? [String: Data])
    #expect(try entities == model().entityVersionHashesByName)
    #expect(FileManager.default.fileExists(atPath: url.path + "-before-1"))
  }

  // MARK: Ignoring the version

  @Test(
    "An older program that ignores the version may read, and may not write where something would be lost"
  )
  func ignoringTheVersion() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let before = try Data(contentsOf: url)
    func flights(_ more: [String: Any]) throws -> Int {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.one())
      let store = try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: url,
        options: [NSIgnorePersistentStoreVersioningOption: true].merging(more) { $1 })
      defer { try? coordinator.remove(store) }
      let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      return try context.performAndWait { try count(context, "Flight") }
    }
    let migrating = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
    ]
    for (options, code) in [
      ([:], NSPersistentStoreIncompatibleVersionHashError), (migrating, NSMigrationMissingSourceModelError),
    ] {
      do {
        _ = try flights(options)
        Issue.record("a program that knows no legs may write: \(options)")
      } catch let error as NSError {
        #expect(error.code == code && error.domain == NSCocoaErrorDomain)
        #expect(error.localizedDescription.contains("Leg (500 objects)"), "\(error)")
      }
      #expect(try Data(contentsOf: url) == before)
    }
    #expect(try flights([NSReadOnlyPersistentStoreOption: true]) == 10)
    #expect(try Data(contentsOf: url) == before)
    #expect(try load(Self.two()) { try count($0, "Leg") } == 500)
  }
}
