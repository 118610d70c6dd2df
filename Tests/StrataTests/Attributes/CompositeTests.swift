import Foundation
import Strata
import Testing

/// Composite attributes (rule 341).
struct CompositeTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(ParcelModel.make())
    context = store.context()
  }

  private func text(_ value: Any?) -> String {
    guard let value = value as? [String: Any] else { return value.map { "\($0)" } ?? "nil" }
    return value.keys.sorted().map { "\($0)=\(text(value[$0]))" }.joined(separator: " ")
  }

  @Test("rule 341: a dictionary in memory, elements by key path, nested, saved, faulted and reopened")
  func roundTrip() throws {
    let parcel = context.parcel("a")
    #expect(parcel.address == nil)
    parcel.address = ["city": "Bari", "zip": 70_121, "place": ["latitude": 41.1, "longitude": 16.9]]
    let expected = "city=Bari place=latitude=41.1 longitude=16.9 zip=70121"
    #expect(text(parcel.address) == expected)
    #expect(parcel["address.city"] as? String == "Bari" && parcel.city == "Bari")
    #expect(parcel.value(forKeyPath: "address.place.latitude") as? Double == 41.1)
    parcel["address.street"] = "Via Sparano"
    parcel["address.place"] = nil
    #expect(text(parcel.address) == "city=Bari street=Via Sparano zip=70121")
    try context.save()
    #expect(text(parcel.address) == "city=Bari street=Via Sparano zip=70121")
    context.refresh(parcel, mergeChanges: false)
    #expect(text(parcel.primitiveValue(forKey: "address")) == "nil")
    #expect(text(parcel.address) == "city=Bari street=Via Sparano zip=70121")
    let reopened = try store.reopened(ParcelModel.make())
    #expect(text(try reopened.fresh { try $0.find("a").address }) == "city=Bari street=Via Sparano zip=70121")
    #expect(try reopened.problems() == [])
  }

  @Test("rule 341: a composite is nil when all its elements are; setting one replaces all elements")
  func wholeValues() throws {
    let parcel = context.parcel("a")
    parcel.address = ["city": "Bari", "street": "x"]
    parcel.address = ["city": "Lecce"]
    #expect(text(parcel.address) == "city=Lecce")
    parcel.city = nil
    #expect(parcel.address == nil)
    parcel.address = ["city": NSNull(), "place": ["latitude": 1]]
    #expect(text(parcel.address) == "place=latitude=1.0")
    parcel.address = nil
    #expect(parcel.address == nil)
    try context.save()
    #expect(try context.parcels(Attribute("address") == nil).count == 1)
  }

  @Test("rules 72–75: changed and committed values are the whole dictionary under the attribute's name")
  func changedValues() throws {
    let parcel = context.parcel("a")
    parcel.address = ["city": "Bari", "street": "x"]
    try context.save()
    parcel.city = "Lecce"
    #expect(parcel.changedValues().keys.sorted() == ["address"])
    #expect(text(parcel.changedValues()["address"]) == "city=Lecce street=x")
    #expect(text(parcel.changedValuesForCurrentEvent()["address"]) == "city=Lecce street=x")
    #expect(text(parcel.committedValues(forKeys: ["address"])["address"]) == "city=Bari street=x")
    #expect(parcel.committedValues(forKeys: nil)["address.city"] == nil)
    parcel.city = "Bari"
    #expect(!parcel.hasPersistentChangedValues && parcel.hasChanges)
    parcel.address = nil
    #expect(parcel.changedValues()["address"] is NSNull)
  }

  @Test("rule 341: predicates, sorting and indexes by key path; the whole can only be asked for nil")
  func predicates() throws {
    for (label, city, zip) in [("a", "Bari", 3), ("b", "Lecce", 1), ("c", "Bari", 2)] {
      context.parcel(label).address = ["city": city, "zip": zip]
    }
    context.parcel("d").setValue(1.0, forKeyPath: "address.place.latitude")
    _ = context.parcel("e")
    func check(_ place: String) throws {
      #expect(
        try context.parcels(Attribute("address.city") == "Bari").map(\.label) == ["a", "c"], "\(place)")
      #expect(try context.parcels(Attribute("address.place.latitude") > 0).map(\.label) == ["d"], "\(place)")
      #expect(try context.parcels(Attribute("address") == nil).map(\.label) == ["e"], "\(place)")
      #expect(try context.parcels(Attribute("address") != nil).count == 4, "\(place)")
      #expect(try context.parcels(Attribute("address.place") != nil).map(\.label) == ["d"], "\(place)")
      let sorted = try context.fetch(
        FetchRequest<Parcel>(
          entityName: "Parcel", predicate: Attribute("address.zip") != nil,
          sortDescriptors: [FetchSort("address.zip", ascending: false)]))
      #expect(sorted.map(\.label) == ["a", "c", "b"], "\(place)")
    }
    try check("unsaved")
    try context.save()
    try check("saved")
    let composite = #expect(throws: FetchError.self) { try context.parcels(Attribute("address") == "Bari") }
    #expect(composite?.reason == .compositeKey)
    #expect(throws: FetchError.self) { try context.parcels(Attribute("address.country") == "x") }
    #expect(
      #expect(throws: FetchError.self) { try context.parcels(Attribute("size") == nil) }?.reason
        == .transientKey)
  }

  @Test("undo, rollback and child saves work element by element; so does merging by property")
  func throughContexts() throws {
    let parcel = context.parcel("a")
    parcel.address = ["city": "Bari", "zip": 1]
    try context.save()
    let undo = UndoManager()
    context.undoManager = undo
    parcel.address = ["city": "Lecce"]
    context.processPendingChanges()
    undo.undo()
    #expect(text(parcel.address) == "city=Bari zip=1" && !parcel.hasPersistentChangedValues)
    undo.redo()
    #expect(text(parcel.address) == "city=Lecce")
    context.rollback()
    #expect(text(parcel.address) == "city=Bari zip=1")
    context.undoManager = nil

    let child = ManagedObjectContext(.confinement, parent: context)
    let own = try #require(try child.existingObject(with: parcel.objectID) as? Parcel)
    own["address.zip"] = 2
    try child.save()
    #expect(text(parcel.address) == "city=Bari zip=2")
    try context.save()

    let other = store.context()
    let theirs = try other.find("a")
    theirs.city = "Taranto"
    theirs["address.zip"] = 8
    parcel["address.zip"] = 9
    parcel["address.street"] = "Via Roma"
    try other.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(text(try store.fresh { try $0.find("a").address }) == "city=Taranto street=Via Roma zip=9")
  }

  @Test("rule 228: a required composite needs a value, a required element one where its composite has any")
  func validation() throws {
    let store = try TemporaryStore(
      ParcelModel.make { entities in
        let address = ParcelModel.makeAddress()
        address.isOptional = false
        address.elements[1].isOptional = false
        let parcel = entities["Parcel"]
        parcel?.properties = parcel?.properties.map { $0.name == "address" ? address : $0 } ?? []
      })
    let context = store.context()
    let parcel = context.parcel("a")
    let missing = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(missing?.code == .validationMissingMandatoryProperty)
    #expect(missing?.userInfo[CoreDataError.Key.validationKey] as? String == "address")
    parcel["address.zip"] = 1
    let element = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(element?.code == .validationMissingMandatoryProperty)
    #expect(element?.userInfo[CoreDataError.Key.validationKey] as? String == "address.city")
    parcel.city = "Bari"
    try context.save()
    let depot = ManagedObject(
      entity: try #require(store.coordinator.managedObjectModel.entitiesByName["Depot"]), insertInto: context)
    let fault = context.object(with: parcel.objectID)
    context.refresh(fault, mergeChanges: false)
    fault["depot"] = depot
    try context.save()
  }

  @Test("a transient composite stays in memory; elements have defaults of their own")
  func transientAndDefaults() throws {
    let store = try TemporaryStore(
      ParcelModel.make { entities in
        let address = entities["Parcel"]?.attributesByName["address"] as? CompositeAttributeDescription
        address?.elements[2].defaultValue = 99
      })
    let context = store.context()
    let parcel = context.parcel("a")
    #expect(text(parcel.address) == "zip=99")
    parcel["size"] = ["width": 2.0]
    #expect(text(parcel["size"]) == "width=2.0")
    try context.save()
    #expect(text(parcel["size"]) == "width=2.0")
    #expect(text(try store.fresh { try $0.find("a")["size"] }) == "nil")
  }

  @Test("key paths go through to-one relationships")
  func keyPaths() throws {
    let depot = ManagedObject(
      entity: try #require(store.coordinator.managedObjectModel.entitiesByName["Depot"]), insertInto: context)
    let parcel = context.parcel("a")
    #expect(parcel.value(forKeyPath: "depot.name") == nil)
    parcel.setValue("x", forKeyPath: "depot.name")
    parcel["depot"] = depot
    parcel.setValue("North", forKeyPath: "depot.name")
    #expect(parcel.value(forKeyPath: "depot.name") as? String == "North")
    parcel.setValue("Bari", forKeyPath: "address.city")
    #expect(parcel.value(forKeyPath: "address.city") as? String == "Bari")
  }

  @Test("a uniqueness constraint over an element holds")
  func uniqueness() throws {
    let store = try TemporaryStore(
      ParcelModel.make { $0["Parcel"]?.uniquenessConstraints = [["address.city"]] })
    let context = store.context()
    context.parcel("a").city = "Bari"
    context.parcel("b").city = "Bari"
    #expect(throws: CoreDataError.self) { try context.save() }
    try context.parcels()[1].city = "Lecce"
    try context.save()
  }

  @Test("rule 341: what is wrong with a composite is refused with the model")
  func wrongModels() throws {
    func sentences(_ change: (CompositeAttributeDescription) -> Void) -> [String] {
      let address = ParcelModel.makeAddress()
      change(address)
      let entity = EntityDescription("Parcel", properties: [address])
      let coordinator = PersistentStoreCoordinator(
        managedObjectModel: ManagedObjectModel(entities: [entity]))
      do {
        try coordinator.addPersistentStore(.inMemory)
        return []
      } catch {
        return (error as? ModelError)?.sentences ?? ["\(error)"]
      }
    }
    #expect(sentences { _ in } == [])
    #expect(sentences { $0.elements = [] }.first?.contains("has no elements") == true)
    #expect(sentences { $0.elements[0].name = "a.b" }.first?.contains("dot") == true)
    #expect(sentences { $0.elements[1].name = "street" }.first?.contains("two properties") == true)
    #expect(sentences { $0.elements[1].isTransient = true }.first?.contains("transient") == true)
    #expect(sentences { $0.defaultValue = ["city": "x"] }.contains { $0.contains("default value") })
    #expect(sentences { $0.elements.append($0) }.contains { $0.contains("element of itself") })
    #expect(sentences { $0.attributeType = .string }.first?.contains("has elements") == true)
    #expect(
      sentences { $0.elements[0].attributeType = .undefined }.first?.contains("address.street has no type")
        == true)
    #expect(
      sentences { $0.elements[0] = AttributeDescription("street", .composite) }.first?.contains("no elements")
        == true)
  }
}
