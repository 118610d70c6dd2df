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
  /// Whether it is a relationship that deletes what it leads to.
  var cascades: Bool { descriptor.relationship?.deleteRule == .cascade }

  init(_ descriptor: PropertyDescriptor, slot: Int) {
    self.descriptor = descriptor
    self.slot = slot
    codec = AnyCodec.codec(for: descriptor)
  }
}

/// How rows of one class get instances. What makes a row backing data is looked up once for all of them.
struct RowInstances {
  /// Makes the instance of a row.
  let make: (_ row: ModelRow) -> AnyObject
  /// Makes a row the backing data of an instance that there is.
  let appear: (_ model: AnyObject, _ row: ModelRow) -> Void
}

/// How the properties of a class lie in rows of its entity: leads from the key paths that accessors use to slots. One for each class and context, used where the context is.
@usableFromInline final class ModelPlan {
  /// In the order of the class's metadata.
  let properties: [ModelProperty]
  let descriptor: ModelDescriptor
  /// Whether somebody observes what is read of the rows.
  let probe = ReadProbe()
  let instances: RowInstances
  /// What takes initial values while instances are made for rows.
  let sink: ModelMaking.Sink
  /// Whether instances have something beside what their rows have; nil before one was looked at: see ``hasOwnState(_:)``.
  var instancesHaveState: Bool?
  // Unsafe: owned by the plan and freed with it; `properties` keeps what it leads to. So that a look-up counts no references.
  private let list: UnsafeMutablePointer<Unmanaged<ModelProperty>>
  /// For each property its slot, if that holds the property's values as they are; else a number below zero.
  let slots: UnsafePointer<Int32>

  /// The plan of rows that lie as `row` does.
  init(_ row: ModelRow) {
    let type = Swift.type(of: row)
    descriptor = ModelDescriptor.of(type.modelType)
    instances = type.instances
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
    list = .allocate(capacity: properties.count)
    let slots = UnsafeMutablePointer<Int32>.allocate(capacity: properties.count)
    self.slots = UnsafePointer(slots)
    for (place, property) in properties.enumerated() {
      (list + place).initialize(to: .passUnretained(property))
      (slots + place).initialize(to: property.codec.isPlain ? Int32(property.slot) : -1)
    }
  }

  deinit {
    list.deallocate()
    slots.deallocate()
  }

  /// The property at a place among those of the class.
  @inline(__always)
  func property(at place: Int) -> ModelProperty { list[place].takeUnretainedValue() }

  /// The property of an entry of a draft.
  @inline(__always)
  func property(_ entry: AnyDraft.Entry, _ row: ModelRow) -> ModelProperty {
    if entry.place >= 0 { return property(at: entry.place) }
    guard let keyPath = entry.keyPath else { stop("an entry of a draft names no property") }
    return property(keyPath, row)
  }

  /// The property that a key path of the class, or of one that it inherits from, names. Stops the process for any other key path.
  @inline(__always)
  func property(_ keyPath: AnyKeyPath, _ row: ModelRow) -> ModelProperty {
    let place = descriptor.place(of: keyPath)
    return place >= 0 ? list[place].takeUnretainedValue() : find(keyPath, row)
  }

  @inline(never)
  private func find(_ keyPath: AnyKeyPath, _ row: ModelRow) -> ModelProperty {
    // A key path of a submodel to what it inherits is another one than its superclass declares.
    guard let entity = row.entity.name,
      let name = try? row.managedObjectContext?.name(of: keyPath, fromEntity: entity),
      let property = properties.first(where: { $0.name == name })
    else {
      stop("\(keyPath) is no persisted property of \(descriptor.type)")
    }
    descriptor.remember(keyPath, as: property.descriptor)
    return property
  }
}

extension ModelPlan {
  /// Gives a new row the attributes of a draft, whose texts go over to it.
  func write(_ draft: AnyDraft, to row: ModelRow) {
    // Where the slot holds the values as they are, whoever has given one has declared the property so.
    for number in draft.numbers {
      let slot = Int(slots[Int(number.place)])
      if slot < 0 || number.kind == .nothing {
        write(number.value, at: Int(number.place), row)
        continue
      }
      switch number.kind {
      case .whole, .long: row.write(Int64(bitPattern: number.bits), slot: slot)
      case .real: row.write(Double(bitPattern: number.bits), slot: slot)
      case .truth: row.write(number.bits != 0, slot: slot)
      case .date:
        row.write(Date(timeIntervalSinceReferenceDate: Double(bitPattern: number.bits)), slot: slot)
      case .nothing: break
      }
    }
    for entry in draft.entries {
      guard case .attribute(let value) = entry.value else { continue }
      let property = property(entry, row)
      property.codec.writeAny(value, row, property)
    }
    // Last: whatever code of the program the others call can read them in the draft.
    while let text = draft.takeText() {
      let slot = Int(slots[text.place])
      if slot < 0 { write(text.value, at: text.place, row) } else { row.take(text.value, slot: slot) }
    }
  }

  @inline(never)
  private func write(_ value: Any?, at place: Int, _ row: ModelRow) {
    let property = property(at: place)
    if let value {
      property.codec.writeAny(value, row, property)
    } else if property.descriptor.defaultValue != nil {
      // Without a default value the property of a new row is nil.
      property.codec.writeNothing(row, property)
    }
  }
}
