import Foundation

/// Everything in the package that turns bytes of unknown origin into values, for tests that feed it nonsense.
///
/// `run` never traps, whatever the bytes are, unless a decoder breaks its word.
@_spi(Testing) public enum DecoderProbe: String, CaseIterable, Sendable {
  /// Rows: the checks, every value in place, another layout, keys, predicates.
  case row
  /// Keys of rows and large values, commit stamps, decimals; index keys of what can be decoded.
  case key
  /// Object URIs.
  case uri
  /// Models as stores keep them, and their schemas.
  case model
  /// Version hashes, user metadata and row layouts.
  case metadata
  /// Predicates built of arbitrary keys and values, resolved, planned and evaluated.
  case predicate
  /// Format strings of predicates and expressions.
  case format
  /// Models as Xcode writes them, and their schemas.
  case xcode
  /// Parts and keys of a history, texts of tokens.
  case history
  /// Logs of small commits: heads, chains of records, what records say was done.
  case log

  /// Feeds the decoder; whether it took the bytes for valid.
  public func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch self {
    case .row: DecoderProbe.runRow(bytes)
    case .key: DecoderProbe.runKey(bytes)
    case .uri: DecoderProbe.runURI(bytes)
    case .model: DecoderProbe.runModel(bytes)
    case .metadata: DecoderProbe.runMetadata(bytes)
    case .predicate: PredicateProbe.run(bytes)
    case .format: FormatProbe.run(bytes)
    case .xcode: XcodeProbe.run(bytes)
    case .history: HistoryProbe.run(bytes)
    case .log: LogProbe.decode(bytes)
    }
  }

  /// Valid inputs to begin with.
  public func samples() -> [[UInt8]] {
    switch self {
    case .row: DecoderProbe.rowSamples()
    case .key: DecoderProbe.keySamples()
    case .uri:
      [
        "x-coredata://9F3D2B6A-0C1E-4B57-8A55-1D2E3F405162/Book/p42",
        "x-coredata://9F3D2B6A-0C1E-4B57-8A55-1D2E3F405162/B%C3%BCro%20%26%20Co/p281474976710655",
        "X-COREDATA://9f3d2b6a-0c1e-4b57-8a55-1d2e3f405162/E/p0",
      ].map { Array($0.utf8) }
    case .model:
      [DecoderProbe.wholeModel, DecoderProbe.smallModel].compactMap { try? ModelCoding.encode($0) }.map {
        Array($0)
      }
    case .metadata: DecoderProbe.metadataSamples()
    case .predicate: PredicateProbe.samples()
    case .format: FormatProbe.samples()
    case .xcode: XcodeProbe.samples()
    case .history: HistoryProbe.samples()
    case .log: LogProbe.samples()
    }
  }

  // MARK: What the probes work with

  static let kinds: [SlotKind] = [
    .string, .int16, .int32, .int64, .boolean, .float, .double, .date, .uuid, .reference, .data, .url,
    .decimal,
    .transient,
  ]

  static let wholeModel: ManagedObjectModel = {
    var attributes = AttributeType.allCases.filter { SlotKind($0) != nil && $0 != .objectID }.map { type in
      AttributeDescription("a\(type.rawValue)", type, isOptional: true)
    }
    attributes.append(AttributeDescription("gone", .string, isOptional: true, isTransient: true))
    let indexes = attributes.dropLast().map {
      FetchIndexDescription(name: "by \($0.name)", attributes: [$0.name])
    }
    let part = EntityDescription(
      "Part", properties: [AttributeDescription("size", .integer32, defaultValue: 3)],
      uniquenessConstraints: [["size"]])
    return ManagedObjectModel(entities: [
      EntityDescription("Whole", properties: attributes, indexes: indexes, subentities: [part])
    ])
  }()

  static let smallModel: ManagedObjectModel = {
    let team = EntityDescription("Team")
    let player = EntityDescription(
      "Player",
      properties: [
        AttributeDescription(
          "number", .integer16, isOptional: false, defaultValue: 7,
          rules: [.minimum(1), .maximum(99, warning: "Two digits.")]),
        AttributeDescription(
          "name", .string, rules: [.minimumLength(1), .maximumLength(40), .pattern("[A-Z].*")]),
      ])
    let players = RelationshipDescription("players", to: player, maxCount: 30, deleteRule: .cascade)
    let own = RelationshipDescription("team", to: team, maxCount: 1, deleteRule: .nullify)
    players.inverseRelationship = own
    own.inverseRelationship = players
    team.properties = [players]
    player.properties += [own]
    let model = ManagedObjectModel(entities: [team, player])
    model.setEntities([team], forConfigurationName: "Some")
    model.versionIdentifiers = ["1"]
    return model
  }()

  /// Compiled once; the model is valid.
  static let schema: Schema? = try? wholeModel.schema()

  /// Layouts that rows are read with: the first byte of an input chooses.
  static let layouts: [RowLayout] = {
    let slots = kinds.enumerated().map { place, kind in
      RowLayout.Slot(name: "s\(place)", canonicalName: "s\(place)", kind: kind)
    }
    let few = [slots[0], slots[3], slots[9]]
    let wider = slots.reversed().map { slot in
      let kind: SlotKind = slot.kind == .int16 ? .int32 : slot.kind == .float ? .double : slot.kind
      return RowLayout.Slot(name: slot.name, canonicalName: slot.canonicalName, kind: kind)
    }
    return [slots, few, Array(wider), []].compactMap { try? RowLayout(slots: $0) }
  }()

  // MARK: Rows

  private static func runRow(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let choice = bytes.first else { return false }
    let layout = layouts[Int(choice) % layouts.count]
    let target = layouts[Int(choice >> 4) % layouts.count]
    // In memory of exactly its length, where sanitizers see every step beyond.
    let row = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count - 1, alignment: 1)
    defer { row.deallocate() }
    row.copyBytes(from: bytes.dropFirst())
    let copy = UnsafeRawBufferPointer(row)
    let isValid =
      (try? RowDecoder.validate(copy, primaryKey: 1, layout: layout, verifyChecksum: false)) != nil
    guard (try? RowDecoder.checkBounds(copy, layout)) != nil, let base = copy.baseAddress else {
      precondition(!isValid, "what is valid lies inside its bounds")
      return false
    }
    var key = KeyBuilder()
    for slot in 0..<layout.slotCount {
      let value = RowBytes.value(base, slot, layout)
      if value == nil, RowBytes.kind(layout.table[slot]).isVariable {
        _ = RowBytes.externalReference(base, layout.table[slot])
      }
      key.reset()
      key.append(fromRow: base, slot: slot, layout: layout, isAscending: slot & 1 == 0)
      precondition(key.count <= 511, "keys are bounded")
    }
    transcode(copy, layout, target)
    return isValid
  }

  private static func transcode(_ row: UnsafeRawBufferPointer, _ old: RowLayout, _ new: RowLayout) {
    let defaults = [AttributeValue](repeating: .null, count: new.slotCount)
    guard let transcoder = try? RowTranscoder(from: old, to: new, defaults: defaults) else { return }
    var writer = RowSlabWriter(expectedLength: row.count)
    let stamp = RowStamp(layoutNumber: 1, entityCode: 1)
    guard let made = try? transcoder.transcode(row, primaryKey: 1, stamp: stamp, into: &writer) else {
      return
    }
    made.withBytes { bytes in
      // What has become longer by defaults is for reading alone.
      let isLong = bytes.count > RowFormat.maximumRowLength
      precondition(
        isLong || (try? RowDecoder.checkBounds(bytes, new)) != nil, "what is made of a row is one")
    }
  }

  private static func rowSamples() -> [[UInt8]] {
    layouts.enumerated().flatMap { choice, layout -> [[UInt8]] in
      [false, true].compactMap { isNil -> [UInt8]? in
        let values = layout.slots.map { isNil ? AttributeValue.null : sample($0.kind) }
        var writer = RowSlabWriter()
        let row = try? RowEncoder.encode(
          layout: layout, stamp: RowStamp(layoutNumber: 1, entityCode: 1), primaryKey: 1, version: 3,
          base: nil,
          draft: RowDraft.make(layout, defaults: values), into: &writer)
        return row.map { row in row.snapshot.withBytes { [UInt8(choice | choice << 4)] + Array($0) } }
      }
    }
  }

  static func sample(_ kind: SlotKind) -> AttributeValue {
    switch kind {
    case .transient: .null
    case .int16, .int32, .int64: .integer(-7)
    case .boolean: .boolean(true)
    case .float: .float(1.5)
    case .double: .double(-2.25)
    case .date: .date(Date(timeIntervalSinceReferenceDate: 86_400))
    case .uuid: .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))
    case .reference: .reference(Reference.bits(7, entityCode: 1))
    case .string: .string("Grüße, Welt")
    // Large: it goes beside the row.
    case .data: .data(Data(repeating: 5, count: 1_500))
    case .url: URL(string: "https://example.org/a?b=c").map { .url($0) } ?? .null
    case .decimal: .decimal(Decimal(sign: .minus, exponent: -3, significand: 123_456_789))
    }
  }

  // MARK: Keys

  private static func runKey(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var isValid = false
    if let key = PrimaryKeyBytes.whole(bytes) {
      isValid = true
      precondition(PrimaryKeyBytes.with(key) { $0.elementsEqual(bytes) }, "keys are bijective")
    }
    _ = PrimaryKeyBytes.last(of: bytes)
    if let key = LargeValueKey(bytes) {
      isValid = true
      precondition(key.withBytes { $0.elementsEqual(bytes) }, "keys are bijective")
    }
    if let stamp = CommitStamp(bytes) {
      isValid = true
      precondition(bytes.starts(with: stamp.bytes), "stamps are bijective")
    }
    if let digits = DecimalBytes.decode(bytes) {
      isValid = true
      precondition(DecimalBytes.encode(digits).elementsEqual(bytes), "decimals are canonical")
      var key = KeyBuilder()
      if let decimal = digits.decimal { key.append(.decimal(decimal), isAscending: true) }
    }
    return isValid
  }

  private static func keySamples() -> [[UInt8]] {
    let large = LargeValueKey(hierarchyCode: 1, primaryKey: 77, attributeCode: 3, version: 2)
    let stamp = CommitStamp(identifier: UUID(), commitNumber: 9)
    return [
      PrimaryKeyBytes.with(77) { Array($0) }, large.withBytes { Array($0) },
      stamp.bytes + [UInt8](repeating: 7, count: 8),
    ]
      + [0, 1, -1, 12_345, Decimal(sign: .minus, exponent: 60, significand: 98_765)].map {
        DecimalBytes.encode(DecimalDigits($0))
      }
  }

  // MARK: URIs

  private static func runURI(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let url = URL(string: String(decoding: bytes, as: UTF8.self)),
      let parts = ManagedObjectID.parse(uri: url)
    else { return false }
    precondition(parts.primaryKey < ManagedObjectID.primaryKeyLimit && !parts.entityName.isEmpty)
    return true
  }

  // MARK: Models and metadata

  private static func runModel(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let model = try? ModelCoding.decode(Data(bytes)) else { return false }
    // What decodes need not compile: then the error says why.
    if let schema = try? model.schema() {
      for entity in schema.entities { precondition(entity.layout.slotCount == entity.attributes.count) }
    }
    return (try? ModelCoding.encode(model)) != nil
  }

  private static func runMetadata(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let choice = bytes.first else { return false }
    let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    switch choice % 3 {
    case 0: return (try? BoundedJSON.decode(StoredVersions.self, from: Data(rest))) != nil
    case 1:
      guard let metadata = try? StoreMetadata(encoded: Data(rest)) else {
        return false
      }
      _ = metadata.dictionary
      return true
    default: return (try? RowLayout.slots(ofSignature: String(decoding: rest, as: UTF8.self))) != nil
    }
  }

  private static func metadataSamples() -> [[UInt8]] {
    let versions = StoredVersions(hashes: ["Book": Data(repeating: 9, count: 32)], identifiers: ["v1"])
    let metadata: [String: MetadataValue] = [
      "text": .string("é"), "list": .array([.integer(1), .double(0.5), .boolean(true), .array([])]),
      "more": .dictionary([
        "date": .date(Date(timeIntervalSinceReferenceDate: 5)), "data": .data(Data([1, 2])),
      ]),
    ]
    let encoder = JSONEncoder.sorted
    var samples: [[UInt8]] = []
    if let data = try? encoder.encode(versions) { samples.append([0] + Array(data)) }
    if let data = try? encoder.encode(metadata) { samples.append([1] + Array(data)) }
    return samples + layouts.map { [2] + Array($0.signature.utf8) }
  }
}
