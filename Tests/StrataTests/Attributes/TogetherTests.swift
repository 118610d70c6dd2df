import Foundation
import Strata
import Testing

/// Transformable, composite and derived attributes with rules, validators, constraints and upserts.
struct TogetherTests {
  @Test("rules 225, 341: rules of elements, and of attributes after a composite, test their own values")
  func rulesAndComposites() throws {
    let store = try TemporaryStore(
      ParcelModel.make { entities in
        let parcel = entities["Parcel"]
        parcel?.attributesByName["note"]?.validationRules = [.maximumLength(3)]
        let address = parcel?.attributesByName["address"] as? CompositeAttributeDescription
        address?.elements[2].validationRules = [.minimum(100)]
      })
    let context = store.context()
    let parcel = context.parcel("a")
    parcel["note"] = "long note"
    parcel["address"] = ["street": "a very long street", "zip": 5]
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    let failures = error?.userInfo[CoreDataError.Key.detailedErrors] as? [CoreDataError] ?? []
    #expect(
      failures.compactMap { $0.userInfo[CoreDataError.Key.validationKey] as? String }.sorted() == [
        "address.zip", "note",
      ])
    parcel["note"] = "ok"
    parcel["address.zip"] = 500
    try context.save()
    var value: Any? = Seal("refused")
    #expect(throws: CoreDataError.self) { try parcel.validateValue(&value, forKey: "seal") }
    value = Seal("good")
    try parcel.validateValue(&value, forKey: "seal")
    value = ["city": "Bari"] as [String: Any]
    try parcel.validateValue(&value, forKey: "address")
  }

  @Test(
    "rule 225: a class that sees every value is handed those of elements and transformables, none that is derived"
  )
  func everyValue() throws {
    let store = try TemporaryStore(ParcelModel.make { $0["Parcel"]?.managedObjectClass = CheckedParcel.self })
    let context = store.context()
    let parcel = CheckedParcel(context: context)
    parcel["tint"] = Tint(red: 1)
    parcel["seal"] = Seal("x")
    parcel["address"] = ["city": "Bari"]
    parcel["sketch"] = Seal("y")
    try context.save()
    #expect(parcel.checked.contains("address.city") && parcel.checked.contains("tint"))
    #expect(parcel["tint"] as? Tint == Tint(red: 1) && (parcel["seal"] as? Seal)?.text == "x")
    #expect(parcel["address.city"] as? String == "Bari")
  }

  @Test("rules 204–206, 335: duplicates become one record, whose derived values are right")
  func duplicates() throws {
    let store = try TemporaryStore(DerivedModel.make { $0["Album"]?.uniquenessConstraints = [["title"]] })
    let context = store.context()
    let album = try context.makeObject("Album", "Sol")
    _ = try context.makeTrack(album)
    try context.save()
    let other = store.context()
    other.mergePolicy = .mergeByPropertyObjectTrump
    let twin = try other.makeObject("Album", "Sol")
    _ = try other.makeTrack(twin)
    try other.save()
    #expect(try store.fresh { try $0.allOf("Album").map { $0["trackCount"] as? Int64 } } == [2])
    #expect(try store.fresh { try $0.allOf("Track").map { $0["albumTitle"] as? String } } == ["Sol", "Sol"])
    #expect(try store.problems() == [])
    // No edit has a derived value.
    for object in try other.allOf("Album") { object["place"] = ["city": "x"] }
    try other.save()
  }

  @Test("upserts take composite and transformable values, and refuse derived ones")
  func upserts() throws {
    let store = try TemporaryStore(ParcelModel.make { $0["Parcel"]?.uniquenessConstraints = [["label"]] })
    let context = store.context()
    try context.upsert(
      Parcel.self, by: ["label"],
      records: [["label": "a", "address": ["city": "Bari"], "tint": Tint(red: 2)]])
    try context.save()
    #expect(try store.fresh { try $0.find("a").city } == "Bari")
    #expect(try store.fresh { try $0.find("a").tint } == Tint(red: 2))
    let albums = try TemporaryStore(DerivedModel.make { $0["Album"]?.uniquenessConstraints = [["title"]] })
    #expect(throws: CoreDataError.self) {
      try albums.context().upsert(
        entityName: "Album", by: ["title"], records: [["title": "x", "upper": "X"]])
    }
  }
}

/// A parcel that sees every value in a save.
final class CheckedParcel: ManagedObject {
  override class var declaredSlots: [String]? { [] }

  private(set) var checked: Set<String> = []
  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    try super.validateValue(&value, forKey: key)
    checked.insert(key)
  }
}

extension ManagedObjectContext {
  fileprivate func makeObject(_ entity: String, _ title: String) throws -> ManagedObject {
    try make(entity, ["title": title])
  }
  fileprivate func makeTrack(_ album: ManagedObject) throws -> ManagedObject {
    try make("Track", ["album": album, "seconds": 1])
  }
}
