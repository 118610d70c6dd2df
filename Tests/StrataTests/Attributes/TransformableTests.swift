import Foundation
import Strata
import Testing

/// Transformable attributes (rules 77, 342, 343).
struct TransformableTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(ParcelModel.make())
    context = store.context()
  }

  @Test("rule 342: a Codable value goes through its transformer, is saved, faulted and read after reopening")
  func codableValues() throws {
    let parcel = context.parcel("a")
    parcel.tint = Tint(red: 0.5, green: .infinity)
    #expect(parcel.tint == Tint(red: 0.5, green: .infinity), "before the save")
    #expect(parcel.changedValues()["tint"] as? Tint == parcel.tint)
    try context.save()
    #expect(parcel.tint?.red == 0.5)
    #expect(parcel.committedValues(forKeys: ["tint"])["tint"] as? Tint == parcel.tint)
    context.refresh(parcel, mergeChanges: false)
    #expect(parcel.tint?.red == 0.5)
    #expect(try parcel.transformedValue(forKey: "tint") as? Tint == parcel.tint)
    let reopened = try store.reopened(ParcelModel.make())
    #expect(try reopened.fresh { try $0.find("a").tint } == Tint(red: 0.5, green: .infinity))
    #expect(try reopened.problems() == [])
  }

  @Test(
    "rule 342: what CodableTransformer writes it reads: a Decimal that is no number, too; what it could not read it refuses"
  )
  func codableExtremes() throws {
    let prices = CodableTransformer<[String: [Decimal]]>()
    let value: [String: [Decimal]] = ["'NaN' / [[ \\\"": [.nan, 1.5]]
    let written = try prices.transform(value)
    let read = try #require(try prices.reverse(written) as? [String: [Decimal]])
    #expect(Array(read.keys) == Array(value.keys))
    #expect(read.values.first?.map(\.isNaN) == [true, false])
    // No other word of JSON5 is taken, nor a comment.
    for text in [#"[{"a":[Infinity]}]"#, #"[{'a':[NaN]}]"#, #"[{"a":[NaN]}] // end"#, #"[{a:[1]}]"#] {
      #expect(throws: (any Error).self) { try prices.reverse(Data(text.utf8)) }
    }
    indirect enum Chain: Codable, Sendable {
      case end
      case link(Chain)
    }
    func chain(_ length: Int) -> Chain {
      (0..<length).reduce(.end) { chain, _ in .link(chain) }
    }
    let chains = CodableTransformer<Chain>()
    _ = try chains.reverse(try chains.transform(chain(60)))
    #expect(throws: (any Error).self) { try chains.transform(chain(70)) }
  }

  @Test("rules 342, 343: without a name plain values are kept, by the secure default's name as well")
  func plainValues() throws {
    let date = Date(timeIntervalSinceReferenceDate: 123.456_789)
    let uuid = UUID()
    let values: [Any] = [
      "text", 7, -0.1, true, date, Data([0, 255]), uuid, ["a", "b"],
      ["n": ["x": [1.5, false]]] as [String: Any],
      NSString("objc"), NSNumber(value: 3),
    ]
    let parcel = context.parcel("plain")
    for value in values {
      parcel.options = value
      try context.save()
      let read = try store.fresh { try #require(try $0.find("plain").options) }
      #expect("\(read)" == "\(parcel.options ?? "nil")")
    }
    parcel.options = ["k": 1, "list": ["a", "b"]] as [String: Any]
    try context.save()
    let read = try store.fresh { try $0.find("plain").options as? [String: Any] }
    #expect(read?["k"] as? Int == 1)
    #expect(read?["list"] as? [String] == ["a", "b"])
    parcel.options = nil
    try context.save()
    #expect(try store.fresh { try $0.find("plain").options } == nil)
    #expect(
      AttributeTransformers.transformer(forName: AttributeTransformers.secureName) is PlainValueTransformer)
    #expect(AttributeTransformers.transformer(forName: nil) is PlainValueTransformer)
  }

  @Test("rule 342: no object of a class is archived by the default; the save says so and nothing is lost")
  func defaultTakesNoObjects() throws {
    let parcel = context.parcel("a")
    parcel.options = Seal("x")
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectValidation)
    #expect(error?.userInfo[CoreDataError.Key.validationKey] as? String == "options")
    #expect((parcel.options as? Seal)?.text == "x")
  }

  @Test(
    "rule 342: a transformer that throws fails the save, naming object and key; the value stays with the object"
  )
  func refusedValues() throws {
    let parcel = context.parcel("a")
    parcel.seal = Seal("good")
    try context.save()
    parcel.seal = Seal("refused")
    parcel.label = "b"
    #expect(parcel.hasChanges && parcel.seal?.text == "refused")
    #expect((parcel.changedValues()["seal"] as? Seal)?.text == "refused")
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectValidation)
    #expect(error?.userInfo[CoreDataError.Key.validationObject] as? Parcel === parcel)
    #expect(error?.userInfo[CoreDataError.Key.validationKey] as? String == "seal")
    #expect((error?.userInfo[CoreDataError.Key.validationValue] as? Seal)?.text == "refused")
    #expect(error?.localizedDescription.contains("this is no seal") == true)
    #expect(error?.localizedDescription.contains(Seal.transformerName) == true)
    #expect(parcel.seal?.text == "refused" && parcel.label == "b")
    #expect(try store.fresh { try $0.find("a").seal?.text } == "good")
    parcel.seal = Seal("better")
    try context.save()
    #expect(try store.fresh { try $0.find("b").seal?.text } == "better")
  }

  @Test("rule 342: rollback, refresh and undo take refused values back")
  func refusedValuesGo() throws {
    let parcel = context.parcel("a")
    parcel.seal = Seal("good")
    try context.save()
    parcel.seal = Seal("refused")
    context.rollback()
    #expect(parcel.seal?.text == "good" && !context.hasChanges)
    parcel.seal = Seal("refused")
    context.refresh(parcel, mergeChanges: false)
    #expect(parcel.seal?.text == "good")
    let undo = UndoManager()
    context.undoManager = undo
    parcel.seal = Seal("refused")
    context.processPendingChanges()
    undo.undo()
    #expect(parcel.seal?.text == "good")
    undo.redo()
    #expect(parcel.seal?.text == "refused")
    undo.undo()
    try context.save()
  }

  @Test(
    "rule 342: bytes that cannot be decoded read as nil, with an error on request, and stay as they are")
  func undecodableBytes() throws {
    let parcel = context.parcel("a")
    parcel.seal = Seal("damaged")
    try context.save()
    try store.fresh { context in
      let found = try context.find("a")
      #expect(found.seal == nil)
      let error = #expect(throws: CoreDataError.self) { try found.transformedValue(forKey: "seal") }
      #expect(error?.localizedDescription.contains("Parcel.seal") == true)
      #expect(error?.localizedDescription.contains(Seal.transformerName) == true)
      #expect(error?.localizedDescription.contains("the seal is broken") == true)
      found.label = "b"
      try context.save()
    }
    #expect(try store.fresh { try $0.find("b").readData(slot: 3) } == Data("damaged".utf8))
  }

  @Test(
    "rule 77, better: mutating an instance in place changes nothing; setting it again does, also an equal one"
  )
  func mutationInPlace() throws {
    let parcel = context.parcel("a")
    let seal = Seal("one")
    parcel.seal = seal
    seal.text = "two"
    #expect(parcel.seal?.text == "one", "what was set is what it was then")
    try context.save()
    let read = try #require(parcel.seal)
    read.text = "three"
    #expect(parcel.seal?.text == "one" && !context.hasChanges)
    parcel.label = "b"
    try context.save()
    #expect(try store.fresh { try $0.find("b").seal?.text } == "one", "not saved along with something else")
    parcel.seal = read
    #expect(parcel.hasPersistentChangedValues)
    parcel.seal = Seal("one")
    #expect(!parcel.hasPersistentChangedValues, "compared by bytes")
    parcel.seal = Seal("three")
    try context.save()
    #expect(try store.fresh { try $0.find("b").seal?.text } == "three")
  }

  @Test("undo, rollback, child saves and merging by property work on the bytes")
  func throughContexts() throws {
    let parcel = context.parcel("a")
    parcel.tint = Tint(red: 1)
    try context.save()
    let undo = UndoManager()
    context.undoManager = undo
    parcel.tint = Tint(red: 2)
    context.processPendingChanges()
    undo.undo()
    #expect(parcel.tint == Tint(red: 1))
    undo.redo()
    #expect(parcel.tint == Tint(red: 2))
    context.rollback()
    #expect(parcel.tint == Tint(red: 1))
    context.undoManager = nil

    let child = ManagedObjectContext(.confinement, parent: context)
    let own = try #require(try child.existingObject(with: parcel.objectID) as? Parcel)
    own.tint = Tint(red: 3)
    try child.save()
    #expect(parcel.tint == Tint(red: 3))
    #expect(try store.fresh { try $0.find("a").tint } == Tint(red: 1))
    try context.save()
    #expect(try store.fresh { try $0.find("a").tint } == Tint(red: 3))

    let other = store.context()
    let theirs = try other.find("a")
    theirs.tint = Tint(red: 4)
    parcel.label = "renamed"
    try other.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(parcel.tint == Tint(red: 4))
    #expect(try store.fresh { try $0.find("renamed").tint } == Tint(red: 4))
  }

  @Test("rule 342: predicates ask for nil only; comparisons, sorting and indexes are refused in words")
  func predicates() throws {
    context.parcel("none").tint = nil
    context.parcel("some").tint = Tint()
    for _ in 0..<2 {
      #expect(try context.parcels(Attribute("tint") == nil).map(\.label) == ["none"])
      #expect(try context.parcels(Attribute("tint") != nil).map(\.label) == ["some"])
      try context.save()
    }
    for predicate in [
      Attribute("tint") == Data(), Attribute("tint").isIn([Data()]), Attribute("tint") < Data(),
      Attribute("tint").isBetween(Data(), Data()), Attribute("tint").contains("x"),
    ] {
      let error = #expect(throws: FetchError.self) { try context.parcels(predicate) }
      #expect(error?.reason == .transformableKey)
    }
    #expect(throws: FetchError.self) {
      try context.fetch(FetchRequest<Parcel>(entityName: "Parcel", sortDescriptors: [FetchSort("tint")]))
    }
    let model = ParcelModel.make {
      $0["Parcel"]?.indexes.append(FetchIndexDescription(name: "byTint", attributes: ["tint"]))
    }
    let error = #expect(throws: ModelError.self) { try TemporaryStore(model) }
    #expect(error?.sentences.first?.contains("which is transformable") == true)
  }

  @Test(
    "rule 342: a transformer that is not registered is an error when the store is added, before there is a file"
  )
  func unregisteredTransformer() throws {
    let model = ParcelModel.make {
      $0["Parcel"]?.attributesByName["tint"]?.valueTransformerName = "strata.tests.nobody"
    }
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let url = folder.url.appendingPathComponent("a.strata")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let error = #expect(throws: CoreDataError.self) {
      try coordinator.addPersistentStore(PersistentStoreDescription(url: url))
    }
    #expect(error?.code == .coreData)
    #expect(error?.localizedDescription.contains("Parcel.tint") == true)
    #expect(error?.localizedDescription.contains("strata.tests.nobody") == true)
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test("rule 343: the transformer that makes objects of any class is refused with the model")
  func insecureTransformer() throws {
    let model = ParcelModel.make {
      $0["Parcel"]?.attributesByName["options"]?.valueTransformerName = "NSKeyedUnarchiveFromData"
    }
    let error = #expect(throws: ModelError.self) { try TemporaryStore(model) }
    #expect(error?.sentences.first?.contains("NSKeyedUnarchiveFromData") == true)
    let secure = ParcelModel.make {
      $0["Parcel"]?.attributesByName["options"]?.valueTransformerName = AttributeTransformers.secureName
    }
    // The same bytes: a store written with no name is opened with it.
    try context.save()
    _ = try store.reopened(secure)
  }

  @Test("large values go outside the row and come back; transient ones stay in memory")
  func largeAndTransient() throws {
    let parcel = context.parcel("a")
    let text = String(repeating: "seal", count: 10_000)
    parcel.seal = Seal(text)
    parcel["sketch"] = Seal("in memory")
    try context.save()
    #expect((parcel["sketch"] as? Seal)?.text == "in memory")
    #expect(try store.fresh { try $0.find("a").seal?.text } == text)
    #expect(try store.fresh { try $0.find("a")["sketch"] } == nil)
    #expect(try store.problems() == [])
  }

  @Test("a required transformable that is missing is 1570; one that is refused is 1550 only")
  func requiredValues() throws {
    let store = try TemporaryStore(
      ParcelModel.make { $0["Parcel"]?.attributesByName["seal"]?.isOptional = false })
    let context = store.context()
    let parcel = context.parcel("a")
    #expect(
      #expect(throws: CoreDataError.self) { try context.save() }?.code == .validationMissingMandatoryProperty)
    parcel.seal = Seal("refused")
    #expect(#expect(throws: CoreDataError.self) { try context.save() }?.code == .managedObjectValidation)
    parcel.seal = Seal("good")
    try context.save()
  }

  @Test("asynchronous saves and objects made without a context know transformers too")
  func elsewhere() async throws {
    let context = store.context(.privateQueue)
    try await context.perform {
      let parcel = Parcel(
        entity: try #require(context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Parcel"]),
        insertInto: nil)
      parcel.label = "loose"
      parcel.tint = Tint(green: 1)
      context.insert(parcel)
    }
    try await context.saveAsynchronously()
    #expect(try store.fresh { try $0.find("loose").tint } == Tint(green: 1))
  }
}
