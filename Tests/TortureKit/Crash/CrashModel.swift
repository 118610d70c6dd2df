import Foundation
@_spi(Testing) import StrataCore
import Strata

/// The store that is written to by programs which are killed.
///
///     Entry      what workers write: one of a worker's numbered places, filled by one of its saves
///     Journal    the last save of each worker, changed in the same save as the entries
public enum CrashModel {
  public static func make() -> ManagedObjectModel {
    let entry = EntityDescription(
      "Entry", managedObjectClass: Entry.self,
      properties: [
        AttributeDescription("worker", .integer32, isOptional: false),
        AttributeDescription("place", .integer32, isOptional: false),
        AttributeDescription("stamp", .integer64, isOptional: false),
        AttributeDescription("name", .string), AttributeDescription("measure", .double),
        AttributeDescription("text", .string), AttributeDescription("blob", .binaryData),
      ],
      uniquenessConstraints: [["worker", "place"]],
      indexes: [
        FetchIndexDescription(name: "byName", attributes: ["name"]),
        FetchIndexDescription(name: "byStampAndMeasure", attributes: ["stamp", "measure"]),
        FetchIndexDescription(name: "byText", attributes: ["text"]),
      ])
    let journal = EntityDescription(
      "Journal", managedObjectClass: Journal.self,
      properties: [
        AttributeDescription("worker", .integer32, isOptional: false),
        AttributeDescription("lastSave", .integer64, isOptional: false, defaultValue: 0),
      ],
      uniquenessConstraints: [["worker"]])
    return ManagedObjectModel(entities: [entry, journal])
  }

  /// Opens the store at `url`, making it when there is none.
  public static func open(_ url: URL, mapSize: Int? = nil) throws -> PersistentContainer {
    let container = PersistentContainer(name: "Crash", model: make())
    let coordinator = container.persistentStoreCoordinator
    if let mapSize {
      var options = LMDBStoreOptions()
      options.mapSize = mapSize
      try coordinator.attach(
        LMDBStore(url: url, schema: container.managedObjectModel.schema(), options: options))
    } else {
      try coordinator.addPersistentStore(PersistentStoreDescription(url: url))
    }
    return container
  }

  public static func close(_ container: PersistentContainer) throws {
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }
}

/// One of a worker's places, when it is filled.
public final class Entry: ManagedObject {
  public override class var declaredSlots: [String]? {
    ["worker", "place", "stamp", "name", "measure", "text", "blob"]
  }

  public var worker: Int {
    get { Int(readInt32(slot: 0)) }
    set { write(Int32(newValue), slot: 0) }
  }
  public var place: Int {
    get { Int(readInt32(slot: 1)) }
    set { write(Int32(newValue), slot: 1) }
  }
  /// The worker's save that filled the place.
  public var stamp: Int {
    get { Int(readInt64(slot: 2)) }
    set { write(Int64(newValue), slot: 2) }
  }
  public var name: String? {
    get { readString(slot: 3) }
    set { write(newValue, slot: 3) }
  }
  public var measure: Double {
    get { readDouble(slot: 4) }
    set { write(newValue, slot: 4) }
  }
  public var text: String? {
    get { readString(slot: 5) }
    set { write(newValue, slot: 5) }
  }
  public var blob: Data? {
    get { readData(slot: 6) }
    set { write(newValue, slot: 6) }
  }

  /// Gives the entry all the values that place and save determine.
  public func fill(_ worker: Int, _ place: Int, _ stamp: Int) {
    let content = EntryContent(worker: worker, place: place, stamp: stamp)
    self.worker = worker
    self.place = place
    self.stamp = stamp
    name = content.name
    measure = content.measure
    text = content.text
    blob = content.blob
  }

  /// Whether the entry has exactly those values.
  public var isWhole: Bool {
    let content = EntryContent(worker: worker, place: place, stamp: stamp)
    return name == content.name && measure == content.measure && text == content.text && blob == content.blob
  }
}

/// How far a worker has come.
public final class Journal: ManagedObject {
  public override class var declaredSlots: [String]? { ["worker", "lastSave"] }

  public var worker: Int {
    get { Int(readInt32(slot: 0)) }
    set { write(Int32(newValue), slot: 0) }
  }
  public var lastSave: Int {
    get { Int(readInt64(slot: 1)) }
    set { write(Int64(newValue), slot: 1) }
  }
}
