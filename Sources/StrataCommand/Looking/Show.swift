import ArgumentParser
import Foundation
import StrataCore

/// One object with everything there is of it.
struct Show: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Shows one object: its values, its links, and what its relationships lead to.",
    discussion:
      "--value NAME writes one value as it is, which for data means its bytes: strata show S Photo/p1 --value data > photo.jpg"
  )

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Argument(help: "The object: “Entity/p7”, or its URI.") var id: String
  @Option(help: "Write only this attribute's value, data as bytes.") var value: String?
  // Unconditional: a number below 0 is a value, and refused as one.
  @Option(parsing: .unconditional, help: "The most members of each to-many relationship to list; 0 for all.")
  var members = 10
  @Flag(help: "As JSON.") var json = false

  func validate() throws {
    if members < 0 { throw ValidationError("--members must not be negative; 0 lists all.") }
  }

  var subject: String? { store }
  static let readsServers = true

  func perform() throws {
    try StorePath.read(store) { window in
      let schema = window.schema
      let address = try Names.object(id, in: schema, identifier: window.store.identifier)
      guard let row = try window.row(address), schema.entities[address.entity].subtree.contains(row.entity)
      else {
        throw Failure(
          .missing, "There is no object \(Names.text(address, in: schema)).",
          advice:
            "“strata rows \(Words.quoted(store)) \(Words.quoted(schema.entities[address.entity].name))” lists those there are."
        )
      }
      let shape = EntityShape(schema.entities[row.entity], schema)
      if let value { return try write(value, row, shape, window) }
      if json { try writeJSON(row, shape, window) } else { try writeText(row, shape, window) }
    }
  }

  private func write(_ name: String, _ row: FetchedRow, _ shape: EntityShape, _ window: StoreWindow) throws {
    guard let attribute = shape.attributes.first(where: { $0.name == name }) else {
      let guess =
        Words.nearest(name, among: shape.attributes.map(\.name)).map { " Did you mean “\($0)”?" } ?? ""
      throw Failure(.usage, "\(shape.entity.name) has no stored attribute “\(name)”.\(guess)")
    }
    switch try window.value(of: row, attribute.slot) {
    case .null: throw Failure(.missing, "\(shape.entity.name)/p\(row.primaryKey) has no value for \(name).")
    case .data(let data): try Output.current.write(Array(data))
    case let value: try Output.current.write(ValueText.cell(value))
    }
  }

  private func list(_ relationship: RelationshipSchema, _ row: FetchedRow, _ window: StoreWindow) throws -> (
    count: Int, names: [String]
  ) {
    let all = try window.members(relationship, of: [row.primaryKey])[0]
    let names = (members > 0 ? all.prefix(members) : all[...]).map { reference in
      window.target(reference).map { Names.text($0, in: window.schema) } ?? "?"
    }
    return (all.count, names)
  }

  private func writeText(_ row: FetchedRow, _ shape: EntityShape, _ window: StoreWindow) throws {
    let output = Output.current
    let names = shape.attributes.map(\.name) + shape.entity.relationships.map(\.name)
    let width = names.reduce(0) { max($0, $1.count) }
    func line(_ name: String, _ text: String) throws {
      try output.line(name + String(repeating: " ", count: width - name.count + 2) + text)
    }
    try output.line(
      "\(shape.entity.name)/p\(row.primaryKey), saved \(Words.counted(Int(row.snapshot?.version ?? 0), "time"))"
    )
    try output.line(
      "x-coredata://\(window.store.identifier.uuidString)/\(shape.entity.name)/p\(row.primaryKey)")
    for attribute in shape.attributes {
      try line(attribute.name, ValueText.shown(try window.value(of: row, attribute.slot)))
    }
    for relationship in shape.entity.relationships where !relationship.isTransient {
      if relationship.isToMany {
        let (count, names) = try list(relationship, row, window)
        let more = count > names.count ? ", …" : ""
        try line(
          relationship.name,
          "\(Words.grouped(count))\(count > 0 ? ": " : "")\(names.joined(separator: ", "))\(more)")
      } else if case .reference(let bits) = try window.value(of: row, relationship.slot),
        let target = window.target(bits)
      {
        let isThere = try window.row(target) != nil
        try line(
          relationship.name, Names.text(target, in: window.schema) + (isThere ? "" : ", which is deleted"))
      } else {
        try line(relationship.name, "nil")
      }
    }
  }

  private func writeJSON(_ row: FetchedRow, _ shape: EntityShape, _ window: StoreWindow) throws {
    var writer = JSONWriter()
    try ObjectLines(window).write(row, to: &writer)
    // Goes on with what is in no row.
    var text = String(decoding: writer.bytes.dropLast(), as: UTF8.self)
    text +=
      ",\"uri\":"
      + JSONValue.string(
        "x-coredata://\(window.store.identifier.uuidString)/\(shape.entity.name)/p\(row.primaryKey)"
      ).text
    text += ",\"version\":\(row.snapshot?.version ?? 0),\"relationships\":"
    text +=
      JSONValue.object(
        try shape.toMany.map { relationship in
          let (count, names) = try list(relationship, row, window)
          return (relationship.name, ["count": .number(count), "members": .strings(names)])
        }
      ).text
    try Output.current.line(text + "}")
  }
}
