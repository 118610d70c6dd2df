import StrataCore

/// A persisted property of a class in rows of its entity.
final class ModelProperty {
  /// What the class says of it.
  let descriptor: PropertyDescriptor
  /// Its position in rows.
  let slot: Int
  /// Reads and writes its values: a `PropertyCodec` of the type of the property.
  let codec: AnyCodec

  var name: String { descriptor.name }

  init(_ descriptor: PropertyDescriptor, slot: Int) {
    self.descriptor = descriptor
    self.slot = slot
    codec = AnyCodec.codec(for: descriptor)
  }
}

/// How the properties of a class lie in rows of its entity: leads from the key paths that accessors use to slots.
///
/// One for each class and context, used where the context is. A key path that is written in the source is one object for good, and found by its address; any other
/// one by what it says, the first time.
final class ModelPlan {
  /// In the order of the class's metadata.
  let properties: [ModelProperty]
  let descriptor: ModelDescriptor
  /// What takes initial values while instances are made for rows.
  let sink: ModelMaking.Sink
  /// Open addressing by the address of key paths; at most half full. Two lists, so that a look-up counts no references.
  // Unsafe: owned by the plan and freed with it; `kept` and `properties` keep what the addresses lead to.
  private let addresses: UnsafeMutablePointer<UInt>
  private let targets: UnsafeMutablePointer<Unmanaged<ModelProperty>?>
  private let mask: Int
  /// The key paths in the table: no other object gets their addresses.
  private var kept: [AnyKeyPath] = []

  /// The plan of rows that lie as `row` does.
  init(_ row: ModelRow) {
    let type = Swift.type(of: row)
    descriptor = ModelDescriptor.of(type.modelType)
    sink = type.makeSink()
    let descriptor = descriptor
    properties = descriptor.properties.map { property in
      guard let slot = row.slot(ofProperty: property.name) else {
        stop(
          "the entity \(row.entity.name ?? "?") has no property \(property.name), which \(descriptor.type) has"
        )
      }
      return ModelProperty(property, slot: slot)
    }
    var size = 16
    while size < properties.count * 4 { size *= 2 }
    mask = size - 1
    addresses = .allocate(capacity: size)
    addresses.initialize(repeating: 0, count: size)
    targets = .allocate(capacity: size)
    targets.initialize(repeating: nil, count: size)
    for property in properties { remember(property.descriptor.keyPath, property) }
  }

  deinit {
    addresses.deallocate()
    targets.deallocate()
  }

  /// The property that a key path of the class, or of one that it inherits from, names. Stops the process for any other key path.
  @inline(__always)
  func property(_ keyPath: AnyKeyPath, _ row: ModelRow) -> ModelProperty {
    let address = UInt(bitPattern: ObjectIdentifier(keyPath))
    var place = Int(truncatingIfNeeded: address >> 4) & mask
    while addresses[place] != 0 {
      if addresses[place] == address, let target = targets[place] { return target.takeUnretainedValue() }
      place = (place + 1) & mask
    }
    return find(keyPath, row)
  }

  @inline(never)
  private func find(_ keyPath: AnyKeyPath, _ row: ModelRow) -> ModelProperty {
    guard let name = name(of: keyPath, row), let property = properties.first(where: { $0.name == name })
    else {
      stop("\(keyPath) is no persisted property of \(descriptor.type)")
    }
    remember(keyPath, property)
    return property
  }

  private func name(of keyPath: AnyKeyPath, _ row: ModelRow) -> String? {
    if let known = descriptor.property(for: keyPath) { return known.name }
    // A key path of a submodel to what it inherits is another one than its superclass declares.
    guard let entity = row.entity.name else { return nil }
    return try? row.managedObjectContext?.name(of: keyPath, fromEntity: entity)
  }

  private func remember(_ keyPath: AnyKeyPath, _ property: ModelProperty) {
    // Key paths that a program makes again and again are found the slow way: the table does not grow without end.
    if (kept.count + 1) * 2 > mask + 1 { return }
    let address = UInt(bitPattern: ObjectIdentifier(keyPath))
    var place = Int(truncatingIfNeeded: address >> 4) & mask
    while addresses[place] != 0 { place = (place + 1) & mask }
    addresses[place] = address
    targets[place] = .passUnretained(property)
    kept.append(keyPath)
  }
}
