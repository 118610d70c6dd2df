import Foundation
@_spi(Testing) import StrataCore
import Strata

/// Small stores whose contents can be foretold: what power cuts and failing disks are tried on.
///
///     Item       a numbered place of a writer, filled by one of its saves with values that follow from the numbers
///     Progress   the last save of each writer, changed in the same save as the items
public enum Ledger {
  public static let model = ManagedObjectModel(entities: [
    EntityDescription(
      "Item", managedObjectClass: LedgerItem.self,
      properties: [
        AttributeDescription("writer", .integer32, isOptional: false),
        AttributeDescription("place", .integer32, isOptional: false),
        AttributeDescription("stamp", .integer64, isOptional: false),
        AttributeDescription("title", .string), AttributeDescription("blob", .binaryData),
      ],
      uniquenessConstraints: [["writer", "place"]],
      indexes: [FetchIndexDescription(name: "byTitle", attributes: ["title"])]),
    EntityDescription(
      "Progress", managedObjectClass: LedgerProgress.self,
      properties: [
        AttributeDescription("writer", .integer32, isOptional: false),
        AttributeDescription("lastSave", .integer64, isOptional: false, defaultValue: 0),
      ]),
  ])

  /// How many places a writer has.
  static let placeCount = 8

  /// Opens the store at `path`, with a log of small commits that begins soon, or without. A small map keeps opening cheap and makes the store outgrow it.
  public static func open(
    _ path: String, durability: Durability = .full, createsIfMissing: Bool = true, isReadOnly: Bool = false,
    mapSize: Int? = 1 << 24, keepsLog: Bool = false
  ) throws -> PersistentContainer {
    let container = PersistentContainer(name: "Ledger", model: model)
    var options = LMDBStoreOptions()
    options.durability = durability
    options.createsIfMissing = createsIfMissing
    options.isReadOnly = isReadOnly
    options.mapSize = mapSize
    options.keepsLog = keepsLog
    if keepsLog { options.commitsBeforeLog = 1 }
    let store = try LMDBStore(url: URL(fileURLWithPath: path), schema: model.schema(), options: options)
    do {
      try container.persistentStoreCoordinator.attach(store)
    } catch {
      store.close()
      throw error
    }
    return container
  }

  public static func close(_ container: PersistentContainer) throws {
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  /// The store of a container that `open` made.
  public static func store(_ container: PersistentContainer) throws -> LMDBStore {
    guard let store = container.persistentStoreCoordinator.persistentStores.first as? LMDBStore else {
      throw TortureViolation("the container has no store")
    }
    return store
  }
}

/// One of a writer's places, when it is filled.
public final class LedgerItem: ManagedObject {
  public override class var declaredSlots: [String]? { ["writer", "place", "stamp", "title", "blob"] }

  public var writer: Int {
    get { Int(readInt32(slot: 0)) }
    set { write(Int32(newValue), slot: 0) }
  }
  public var place: Int {
    get { Int(readInt32(slot: 1)) }
    set { write(Int32(newValue), slot: 1) }
  }
  /// The save that filled the place.
  public var stamp: Int {
    get { Int(readInt64(slot: 2)) }
    set { write(Int64(newValue), slot: 2) }
  }
  public var title: String? {
    get { readString(slot: 3) }
    set { write(newValue, slot: 3) }
  }
  public var blob: Data? {
    get { readData(slot: 4) }
    set { write(newValue, slot: 4) }
  }

  func fill(_ writer: Int, _ place: Int, _ stamp: Int) {
    let content = LedgerContent(writer, place, stamp)
    self.writer = writer
    self.place = place
    self.stamp = stamp
    title = content.title
    blob = content.blob
  }

  /// Whether the values are those that writer, place and save demand.
  var isWhole: Bool {
    let content = LedgerContent(writer, place, stamp)
    return title == content.title && blob == content.blob
  }
}

/// How far a writer has come.
public final class LedgerProgress: ManagedObject {
  public override class var declaredSlots: [String]? { ["writer", "lastSave"] }

  public var writer: Int {
    get { Int(readInt32(slot: 0)) }
    set { write(Int32(newValue), slot: 0) }
  }
  public var lastSave: Int {
    get { Int(readInt64(slot: 1)) }
    set { write(Int64(newValue), slot: 1) }
  }
}

/// The values of an item.
struct LedgerContent {
  let title: String?
  let blob: Data?

  init(_ writer: Int, _ place: Int, _ stamp: Int) {
    var random = SeededGenerator(seed: UInt64(writer) << 40 ^ UInt64(place) << 32 ^ UInt64(stamp))
    // Some too long for a key; blobs in the row, beside it on a shared page, and on pages of their own.
    let length = random.pick([0, 12, 12, 40, 300])
    title = length == 0 ? nil : String(repeating: "wave ", count: length / 5) + "\(stamp)"
    let size = random.pick([0, 0, 30, 700, 1_500, 6_000])
    blob = size == 0 ? nil : Data(repeating: UInt8(random.below(256)), count: size)
  }
}
