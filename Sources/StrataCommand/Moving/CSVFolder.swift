import Foundation
import StrataCore

/// A store as a folder: `store.json`, `Person.csv` for the objects of an entity, `Team.members.csv` for the members of a relationship.
///
/// The folder has another name until it is complete.
final class CSVFolder: DumpSink {
  private let path: String
  private let draft: String
  private let window: StoreWindow
  private let shapes: [EntityShape]
  /// Open files by name; a model of thousands of entities must not run out of descriptors.
  private var files: [String: Output] = [:]
  private var descriptors: [String: Int32] = [:]
  private var facts: StoreFacts?
  private static let mostOpen = 64

  init(_ path: String, _ window: StoreWindow) throws {
    if access(path, F_OK) == 0 { throw Failure(.exists, "There is a folder \(path) already.") }
    let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    self.path = trimmed
    self.window = window
    Leftovers.remove(beside: trimmed, prefix: Leftovers.dumps)
    draft = Leftovers.name(Leftovers.dumps, beside: trimmed)
    shapes = EntityShape.all(window.schema)
    let code = Interruption.makeDraft(draft) { mkdir(draft, 0o700) == 0 ? 0 : errno }
    if code != 0 {
      Interruption.discard(draft)
      throw OutputError(code: code, name: path)
    }
    Leftovers.hold(draft)
    for shape in shapes {
      // Names become names of files.
      guard !shape.entity.name.contains("/"), !shape.entity.name.hasPrefix(".") else {
        throw Failure(
          .other,
          "The entity \(shape.entity.name) cannot be the name of a file; without --csv it can be written.")
      }
    }
  }

  deinit {
    for descriptor in descriptors.values { close(descriptor) }
    Interruption.discard(draft)
  }

  func begin(_ facts: StoreFacts) throws {
    self.facts = facts
    let held = Set(facts.entities)
    for shape in shapes where !shape.entity.isAbstract && held.contains(shape.entity.name) {
      let names = ["id"] + shape.attributes.map(\.name) + shape.toOne.map(\.relationship.name)
      try file(Self.name(shape.entity)).line(names.map(CSV.quoted).joined(separator: ","))
    }
  }

  static func name(_ entity: EntitySchema) -> String { entity.name + ".csv" }
  static func name(_ relationship: RelationshipSchema) -> String {
    relationship.qualifiedName + ".members.csv"
  }

  func write(_ row: FetchedRow) throws {
    let shape = shapes[row.entity]
    var cells = ["p\(row.primaryKey)"]
    for attribute in shape.attributes {
      let content = Column.Content.value(try window.value(of: row, attribute.slot))
      cells.append(content.cell(window.schema))
    }
    for link in shape.toOne {
      guard case .reference(let bits) = try window.value(of: row, link.slot), let target = window.target(bits)
      else {
        cells.append("")
        continue
      }
      cells.append(CSV.quoted(Names.text(target, in: window.schema)))
    }
    try file(Self.name(shape.entity)).line(cells.joined(separator: ","))
  }

  func write(
    _ members: ArraySlice<UInt64>, from place: Int, of relationship: RelationshipSchema, _ owner: FetchedRow
  ) throws {
    let name = Self.name(relationship)
    let isNew = access(draft + "/" + name, F_OK) != 0
    let output = try file(name)
    if isNew { try output.line("owner,place,member") }
    let ownerText = CSV.quoted("\(shapes[owner.entity].entity.name)/p\(owner.primaryKey)")
    for (offset, member) in members.enumerated() {
      guard let target = window.target(member) else {
        throw Failure(.damaged, "\(ownerText) has a member of an unknown entity.")
      }
      let text = CSV.quoted(Names.text(target, in: window.schema))
      try output.line("\(ownerText),\(relationship.isOrdered ? String(place + offset) : ""),\(text)")
    }
  }

  func end(_ counts: DumpCounts) throws {
    for name in Array(files.keys) { try closeFile(name) }
    var writer = JSONWriter()
    if let facts { DumpHeader.write(facts, to: &writer) }
    let output = try file("store.json")
    try output.write(writer.bytes)
    try output.line()
    try output.json([
      "end": ["objects": .number(counts.objects), "members": .number(counts.members)]
    ])
    try closeFile("store.json")
    let code = Interruption.publish(draft, as: path)
    if code != 0 { throw OutputError(code: code, name: path) }
  }

  private func file(_ name: String) throws -> Output {
    if let output = files[name] { return output }
    if files.count >= Self.mostOpen { for name in Array(files.keys) { try closeFile(name) } }
    let descriptor = open(draft + "/" + name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    if descriptor < 0 { throw OutputError(code: errno, name: "\(path)/\(name)") }
    descriptors[name] = descriptor
    let output = Output(descriptor: descriptor, name: "\(path)/\(name)")
    files[name] = output
    return output
  }

  private func closeFile(_ name: String) throws {
    guard let output = files.removeValue(forKey: name), let descriptor = descriptors.removeValue(forKey: name)
    else { return }
    defer { close(descriptor) }
    try output.flush()
    if fsync(descriptor) != 0, errno != EINVAL { throw OutputError(code: errno, name: "\(path)/\(name)") }
  }
}
