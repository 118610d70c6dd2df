import CoreData
import struct StrataCore.Mutex

/// A store in a JSON file, as it is written for Core Data.
class FileStore: NSAtomicStore, @unchecked Sendable {
  // @unchecked Sendable: called one at a time.
  static let storeType = "FileStore"
  static func register() { NSPersistentStoreCoordinator.registerStoreClass(self, forStoreType: storeType) }

  struct Damaged: Error, Equatable { let reason: String }
  struct Full: Error, Equatable {}

  /// Whether writing fails.
  private let isFull = Mutex(false)
  var isDiskFull: Bool {
    get { isFull.withLock { $0 } }
    set { isFull.withLock { $0 = newValue } }
  }
  private(set) var saveCount = 0
  private(set) var removed: [NSManagedObjectID] = []

  private struct Content: Codable {
    struct Record: Codable {
      let entity: String
      let reference: String
      var values: [String: String] = [:]
      var members: [String: [String]] = [:]
    }
    /// A property list.
    var metadata = Data()
    var records: [Record] = []

    var metadataValues: [String: Any] {
      (try? PropertyListSerialization.propertyList(from: metadata, format: nil)) as? [String: Any] ?? [:]
    }
  }

  override var type: String { Self.storeType }

  private func content() throws -> Content? {
    guard let url, let data = try? Data(contentsOf: url) else { return nil }
    do { return try JSONDecoder().decode(Content.self, from: data) } catch {
      throw Damaged(reason: "\(url.lastPathComponent) is no library.")
    }
  }

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    let data = try Data(contentsOf: url)
    return try JSONDecoder().decode(Content.self, from: data).metadataValues
  }

  override func loadMetadata() throws {
    var metadata: [String: Any] = try content()?.metadataValues ?? [:]
    metadata[NSStoreUUIDKey] = metadata[NSStoreUUIDKey] ?? UUID().uuidString
    metadata[NSStoreTypeKey] = Self.storeType
    self.metadata = metadata
  }

  override func load() throws {
    guard let content = try content(),
      let entities = persistentStoreCoordinator?.managedObjectModel.entitiesByName
    else { return }
    var nodes: [String: NSAtomicStoreCacheNode] = [:]
    for record in content.records {
      guard let entity = entities[record.entity] else { throw Damaged(reason: "no entity \(record.entity)") }
      let id = objectID(for: entity, withReferenceObject: record.reference)
      let node = NSAtomicStoreCacheNode(objectID: id)
      node.propertyCache = NSMutableDictionary()
      nodes[record.reference] = node
    }
    for record in content.records {
      guard let node = nodes[record.reference], let entity = entities[record.entity] else { continue }
      for (name, text) in record.values {
        guard let attribute = entity.attributesByName[name] else { continue }
        node.setValue(Self.value(text, attribute.attributeType), forKey: name)
      }
      for (name, references) in record.members {
        let others = references.compactMap { nodes[$0] }
        guard let relationship = entity.relationshipsByName[name] else { continue }
        if !relationship.isToMany {
          node.setValue(others.first, forKey: name)
        } else if relationship.isOrdered {
          node.setValue(NSMutableOrderedSet(array: others), forKey: name)
        } else {
          node.setValue(NSMutableSet(array: others), forKey: name)
        }
      }
    }
    addCacheNodes(Set(nodes.values))
  }

  override func willRemoveCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {
    removed += cacheNodes.map(\.objectID)
  }

  override func save() throws {
    saveCount += 1
    var content = Content()
    content.metadata = try PropertyListSerialization.data(
      fromPropertyList: metadata ?? [:], format: .binary, options: 0)
    for node in cacheNodes() {
      let entity = node.objectID.entity
      var record = Content.Record(entity: entity.name ?? "", reference: reference(node))
      for (name, attribute) in entity.attributesByName {
        record.values[name] = Self.text(node.value(forKey: name), attribute.attributeType)
      }
      for name in entity.relationshipsByName.keys {
        let value = node.value(forKey: name)
        let others =
          (value as? NSOrderedSet)?.array ?? (value as? NSSet)?.allObjects ?? [value].compactMap(\.self)
        record.members[name] = others.compactMap { ($0 as? NSAtomicStoreCacheNode).map(reference) }
      }
      content.records.append(record)
    }
    if isDiskFull { throw Full() }
    guard let url else { return }
    try JSONEncoder().encode(content).write(to: url, options: .atomic)
  }

  private func reference(_ node: NSAtomicStoreCacheNode) -> String {
    "\(referenceObject(for: node.objectID))"
  }

  private static func text(_ value: Any?, _ type: NSAttributeType) -> String? {
    switch value {
    case nil: nil
    case let date as Date: "\(date.timeIntervalSinceReferenceDate)"
    case let data as Data: data.base64EncodedString()
    case let uuid as UUID: uuid.uuidString
    case let url as URL: url.absoluteString
    case let list as [String]: list.joined(separator: "\u{1F}")
    case let number as NSDecimalNumber: "\(number.decimalValue)"
    case let number as NSNumber where type == .booleanAttributeType: number.boolValue ? "true" : "false"
    case let number as NSNumber where type == .doubleAttributeType: "\(number.doubleValue)"
    case let number as NSNumber where type == .floatAttributeType: "\(number.floatValue)"
    case let number as NSNumber: "\(number.int64Value)"
    case let other?: "\(other)"
    }
  }

  private static func value(_ text: String, _ type: NSAttributeType) -> Any? {
    switch type {
    case .dateAttributeType: Double(text).map { Date(timeIntervalSinceReferenceDate: $0) }
    case .binaryDataAttributeType: Data(base64Encoded: text)
    case .UUIDAttributeType: UUID(uuidString: text)
    case .URIAttributeType: URL(string: text)
    case .transformableAttributeType: text.split(separator: "\u{1F}").map(String.init)
    case .decimalAttributeType: Decimal(string: text).map { NSDecimalNumber(decimal: $0) }
    case .booleanAttributeType: text == "true"
    case .doubleAttributeType: Double(text)
    case .floatAttributeType: Float(text)
    case .stringAttributeType: text
    default: Int64(text)
    }
  }
}

/// A file store in a folder of its own.
final class FileStack {
  let url: URL
  let coordinator: NSPersistentStoreCoordinator
  let store: FileStore
  let context: NSManagedObjectContext
  private let folder: URL?

  init(_ url: URL? = nil) throws {
    FileStore.register()
    if let url {
      (self.url, folder) = (url, nil)
    } else {
      let new = FileManager.default.temporaryDirectory.appendingPathComponent("files-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: new, withIntermediateDirectories: true)
      folder = new
      self.url = new.appendingPathComponent("Shelf.json")
    }
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shelf.model())
    let added = try coordinator.addPersistentStore(
      ofType: FileStore.storeType, configurationName: nil, at: self.url)
    guard let store = added as? FileStore else { throw FileStore.Damaged(reason: "\(added) is no FileStore") }
    self.store = store
    context = .on(coordinator)
  }

  deinit { if let folder { try? FileManager.default.removeItem(at: folder) } }
}
