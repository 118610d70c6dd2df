import Foundation
import StrataCore

extension StoreBrowser {
  /// How many members of a relationship come with an object.
  private static let firstMembers = 20
  /// How much of a value comes with an object.
  private static let valueLength = 2_000
  /// Up to here a large value is looked at to see what it is.
  private static let lookedAt = 32 << 20

  func find(_ request: BrowseRequest, _ window: StoreWindow) throws -> FetchedRow {
    let address = try Names.object(
      try request.text("id"), in: window.schema, identifier: window.store.identifier)
    guard let row = try window.row(address),
      window.schema.entities[address.entity].subtree.contains(row.entity)
    else {
      throw Failure(.missing, "There is no object \(Names.text(address, in: window.schema)).")
    }
    return row
  }

  /// An object with everything: values, what it leads to, and what leads to it.
  func object(_ request: BrowseRequest, _ store: OpenStore) throws -> BrowseAnswer {
    let (number, window) = try store.numberedWindow()
    let row = try find(request, window)
    let shape = EntityShape(window.schema.entities[row.entity], window.schema)
    let name = "\(shape.entity.name)/p\(row.primaryKey)"
    return BrowseAnswer([
      "id": .string(name), "entity": .string(shape.entity.name), "commit": .number(Int(number)),
      "uri": .string("x-coredata://\(store.followed.identifier.uuidString)/\(name)"),
      "saved": .number(Int(row.snapshot?.version ?? 0)),
      "attributes": .array(try shape.attributes.map { try attribute($0, row, shape, window) }),
      "toOne": .array(try shape.toOne.map { try toOne($0, row, window) }),
      "toMany": .array(
        try shape.toMany.map {
          try list(EdgeSet(relationship: $0.number), $0, named: $0.name, of: $0.destination, row, window)
        }),
      // What has an inverse is among the object's own relationships.
      "incoming": .array(
        try shape.entity.inbound.filter(\.hasHiddenInverse).map {
          try list(
            EdgeSet(relationship: $0.number, isHiddenInverse: true), $0, named: $0.qualifiedName,
            of: $0.owner, row, window)
        }),
    ])
  }

  private func toOne(_ link: EntityShape.Link, _ row: FetchedRow, _ window: StoreWindow) throws -> JSONValue {
    var target = JSONValue.null
    if case .reference(let bits) = try window.value(of: row, link.slot), let address = window.target(bits) {
      target = try self.link(address, window)
    }
    return [
      "name": .string(link.relationship.name), "isOptional": .boolean(link.relationship.isOptional),
      "destination": .string(window.schema.entities[link.relationship.destination].name), "target": target,
    ]
  }

  private func list(
    _ edges: EdgeSet, _ relationship: RelationshipSchema, named name: String, of destination: Int,
    _ row: FetchedRow,
    _ window: StoreWindow
  ) throws -> JSONValue {
    let isOrdered = relationship.isOrdered && !edges.isHiddenInverse
    let page = try self.page(
      edges, isOrdered: isOrdered, of: row, behind: nil, limit: Self.firstMembers, window)
    return .object(
      [
        ("name", .string(name)), ("destination", .string(window.schema.entities[destination].name)),
        ("isOrdered", .boolean(isOrdered)),
      ] + page)
  }

  /// How many members there are, some of them, and where the page behind these begins: null after the last. Other members are not read.
  private func page(
    _ edges: EdgeSet, isOrdered: Bool, of row: FetchedRow, behind place: PlacedMember?, limit: Int,
    _ window: StoreWindow
  ) throws -> [(String, JSONValue)] {
    // One more says whether there is another page.
    let found = try window.reading.members(
      edges, of: row.primaryKey, isOrdered: isOrdered, behind: place, limit: limit + 1)
    let members = found.prefix(limit)
    return [
      ("count", .number(try window.reading.memberCount(edges, of: row.primaryKey))),
      ("members", .array(try links(members.map(\.member), window))),
      ("next", .optional(found.count > limit ? members.last.map(Self.text) : nil)),
    ]
  }

  /// A place among members, as the page sends it back.
  private static func text(_ place: PlacedMember) -> String { "\(place.position)-\(place.member)" }

  private static func place(_ text: String) throws -> PlacedMember {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt64($0) }
    guard parts.count == 2, let position = parts[0], let member = parts[1] else {
      throw Failure(
        .usage, "“\(text.prefix(80))” is no “after”: it is the “next” of another page of members.")
    }
    return PlacedMember(position: position, member: member)
  }

  private func links(_ references: some Sequence<UInt64>, _ window: StoreWindow) throws -> [JSONValue] {
    try references.map { reference in
      guard let target = window.target(reference) else { return ["id": "?", "label": .null, "isGone": true] }
      return try link(target, window)
    }
  }

  /// More members of a relationship, behind those of the page whose `next` is sent as `after`: `relationship` is the name of one of the object's own, or `Entity.name` of one that leads to it.
  func members(_ request: BrowseRequest, _ store: OpenStore) throws -> BrowseAnswer {
    let window = try store.window()
    let row = try find(request, window)
    let entity = window.schema.entities[row.entity]
    let name = try request.text("relationship")
    let edges: EdgeSet
    var isOrdered = false
    if let own = entity.relationships.first(where: { $0.name == name && $0.isToMany && !$0.isTransient }) {
      edges = EdgeSet(relationship: own.number)
      isOrdered = own.isOrdered
    } else if let other = entity.inbound.first(where: { $0.qualifiedName == name && $0.hasHiddenInverse }) {
      edges = EdgeSet(relationship: other.number, isHiddenInverse: true)
    } else {
      throw Failure(.usage, "\(entity.name) has no to-many relationship “\(name.prefix(80))”.")
    }
    let limit = try request.number("limit", else: 100, most: Self.mostRows)
    let place = try request.query["after"].map { try Self.place($0) }
    return BrowseAnswer(
      .object(try page(edges, isOrdered: isOrdered, of: row, behind: place, limit: limit, window)))
  }

  // MARK: Values

  private func attribute(
    _ attribute: EntityShape.Attribute, _ row: FetchedRow, _ shape: EntityShape, _ window: StoreWindow
  ) throws -> JSONValue {
    let isDerived = shape.entity.derivedSlots.contains(attribute.slot)
    var members: [(String, JSONValue)] = [
      ("name", .string(attribute.name)), ("type", .string("\(attribute.type)")),
      ("isOptional", .boolean(attribute.isOptional)), ("isDerived", .boolean(isDerived)),
      (
        "why",
        .optional(KeptTransformer.reason(window.schema.attribute(attribute.name, of: shape.entity)))
      ),
    ]
    if let size = window.largeValueSize(of: row, attribute.slot), size > Self.lookedAt {
      members += [("kind", "large"), ("size", .number(size)), ("isWhole", false)]
      return .object(members)
    }
    let value = try window.value(of: row, attribute.slot)
    switch value {
    case .null: members.append(("kind", "nil"))
    case .data(let data): members += DataContent.members(data, texts: Self.valueLength)
    default:
      let text = ValueText.cell(value)
      members += [("kind", "value"), ("text", .string(String(text.prefix(Self.valueLength))))]
      members.append(("isWhole", .boolean(text.count <= Self.valueLength)))
    }
    return .object(members)
  }

  /// Larger values are not sent: an answer is made as a whole, in memory.
  private static let longestValue = 256 << 20

  /// One value as it is: an image as an image, everything else as text or as a file. `pending` is 1 for one that is not saved yet.
  func value(_ request: BrowseRequest, _ store: OpenStore) throws -> BrowseAnswer {
    if request.query["pending"] == "1" {
      let (id, name) = (try request.text("id"), try request.text("name"))
      return try Self.answer(try edits().value(id, name), id, name)
    }
    let window = try store.window()
    let row = try find(request, window)
    let shape = EntityShape(window.schema.entities[row.entity], window.schema)
    let name = try request.text("name")
    guard let attribute = shape.attributes.first(where: { $0.name == name }) else {
      throw Failure(.missing, "\(shape.entity.name) has no stored attribute “\(name.prefix(80))”.")
    }
    if let size = window.largeValueSize(of: row, attribute.slot), size > Self.longestValue {
      var answer = BrowseAnswer([
        "error": .string(
          "\(shape.entity.name).\(name) has \(size) bytes: the page shows values of up to \(Self.longestValue)."
        ),
        "advice": .null,
      ])
      answer.status = 413
      return answer
    }
    return try Self.answer(
      try window.value(of: row, attribute.slot), "\(shape.entity.name)/p\(row.primaryKey)", name)
  }

  private static func answer(_ value: AttributeValue, _ object: String, _ name: String) throws -> BrowseAnswer
  {
    switch value {
    case .null: throw Failure(.missing, "\(object) has no value for \(name).")
    case .data(let data):
      switch DataContent(data) {
      case .image(let type): return BrowseAnswer(type: type, body: Array(data))
      case .text: return BrowseAnswer(type: "text/plain; charset=utf-8", body: Array(data))
      case .bytes:
        var answer = BrowseAnswer(type: "application/octet-stream", body: Array(data))
        answer.fileName = fileName("\(object.replacing("/", with: "-"))-\(name)")
        return answer
      }
    case let value:
      return BrowseAnswer(type: "text/plain; charset=utf-8", body: Array(ValueText.cell(value).utf8))
    }
  }

  /// Letters and digits that every header and every file system takes.
  static func fileName(_ text: String) -> String {
    String(
      text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == ".") ? $0 : "_" }.prefix(100)
    )
      + ".bin"
  }
}

/// What bytes are, as far as they tell.
enum DataContent {
  /// A picture that browsers show, and which can do nothing else: no SVG.
  case image(type: String)
  case text(String)
  case bytes

  /// How many bytes a dump shows.
  private static let dumped = 256
  /// Longer texts are not looked through.
  private static let longestText = 4 << 20

  init(_ data: Data) {
    if let type = Self.imageType(data) {
      self = .image(type: type)
    } else if data.count <= Self.longestText, !data.isEmpty,
      let text = String(validating: data, as: UTF8.self),
      text.unicodeScalars.allSatisfy({
        $0.value >= 0x20 && $0.value != 0x7F || $0 == "\n" || $0 == "\t" || $0 == "\r"
      })
    {
      self = .text(text)
    } else {
      self = .bytes
    }
  }

  var kind: String {
    switch self {
    case .image: "image"
    case .text: "text"
    case .bytes: "bytes"
    }
  }

  private static func imageType(_ data: Data) -> String? {
    func has(_ bytes: [UInt8], at place: Int = 0) -> Bool {
      data.count >= place + bytes.count && data.dropFirst(place).prefix(bytes.count).elementsEqual(bytes)
    }
    if has([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
    if has([0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if has(Array("GIF87a".utf8)) || has(Array("GIF89a".utf8)) { return "image/gif" }
    if has(Array("RIFF".utf8)), has(Array("WEBP".utf8), at: 8) { return "image/webp" }
    if has(Array("ftypavif".utf8), at: 4) { return "image/avif" }
    return nil
  }

  /// What the page is told of bytes: what they are, how many, and texts of up to `length` characters or the beginning of a dump.
  static func members(_ data: Data, texts length: Int) -> [(String, JSONValue)] {
    let content = DataContent(data)
    var members: [(String, JSONValue)] = [
      ("kind", .string(content.kind)), ("size", .number(data.count)),
    ]
    let isWhole: Bool
    switch content {
    case .image(let type):
      members.append(("media", .string(type)))
      isWhole = true
    case .text(let text):
      isWhole = text.count <= length
      members.append(("text", .string(String(text.prefix(length)))))
    case .bytes:
      isWhole = data.count <= dumped
      members.append(("text", .string(dump(data))))
    }
    return members + [("isWhole", .boolean(isWhole))]
  }

  /// Sixteen bytes a line, with their place and their characters.
  static func dump(_ data: Data) -> String {
    func hex(_ number: Int, _ width: Int) -> String {
      let text = String(number, radix: 16)
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    let bytes = Array(data.prefix(dumped))
    return stride(from: 0, to: bytes.count, by: 16).map { start in
      let line = bytes[start..<min(start + 16, bytes.count)]
      let codes = line.map { hex(Int($0), 2) }.joined(separator: " ")
      let signs = String(line.map { (0x20..<0x7F).contains($0) ? Character(UnicodeScalar($0)) : "·" })
      return "\(hex(start, 6))  \(codes)\(String(repeating: " ", count: 47 - codes.count))  \(signs)"
    }.joined(separator: "\n")
  }
}
