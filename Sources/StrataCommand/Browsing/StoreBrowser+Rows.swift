import Foundation
import StrataCore

extension StoreBrowser {
  /// The most rows of one answer.
  static let mostRows = 500
  /// Up to here in a table a window may do without a list of its rows.
  private static let beginning = 2_000
  /// Up to so many rows a list is made at once.
  private static let smallTable = 20_000
  /// How many characters of a text a cell shows.
  static let cellLength = 160

  /// What the page begins with: the entities, how many objects there are, what can be asked.
  func begin(_ request: BrowseRequest, _ store: OpenStore) throws -> BrowseAnswer {
    let (counts, window) = try counts(store, for: request.asker)
    let schema = window.schema
    let entities = schema.entities.sorted { $0.name < $1.name }.map { entity -> JSONValue in
      let all = entity.subtree.reduce(0) { $0 + (counts.byEntity[$1] ?? 0) }
      return [
        "name": .string(entity.name), "isAbstract": .boolean(entity.isAbstract),
        "parent": .optional(entity.superNumber.map { schema.entities[$0].name }),
        "count": .number(all), "exactCount": .number(counts.byEntity[entity.number] ?? 0),
      ]
    }
    return BrowseAnswer([
      "store": .string(StorePath.resolved(path).lastPathComponent),
      "path": .string(StorePath.resolved(path).path),
      "uuid": .string(store.followed.identifier.uuidString), "writes": .boolean(writes),
      "largestUpload": .number(Self.largestUpload),
      // Another one when another file has taken the store's place.
      "opened": .string(store.identity.uuidString), "commit": .number(Int(counts.commit)),
      "recordsHistory": .boolean(try store.coordinator.currentHistoryToken() != nil),
      "entities": .array(entities),
    ])
  }

  /// How many objects there are of exactly each entity, by its number, and the commit that this is of.
  func counts(_ store: OpenStore, for asker: Asker) throws -> (
    counts: (commit: UInt64, byEntity: [Int: Int]), window: StoreWindow
  ) {
    let (number, window) = try store.numberedWindow()
    // Something may have been committed in between.
    let isOfNumber = try store.followed.commitNumber() == number
    let counts = try store.counts.counts(window, isOfNumber ? number : nil, of: store.followed, for: asker)
    return ((number, counts), window)
  }

  /// A window of a table. `at` is the commit of an earlier window that this one is to go on from: then both are parts of one list, whose rows have
  /// their newest values, and are told as gone when they are.
  func rows(_ request: BrowseRequest, _ store: OpenStore) throws -> BrowseAnswer {
    let (number, window) = try store.numberedWindow()
    let (question, sort) = try question(request)
    let offset = try request.number("offset", else: 0)
    let limit = try request.number("limit", else: 100, most: Self.mostRows)
    let at = UInt64(try request.number("at", else: Int(number)))
    var resolved = try question.request(window, sort: sort.map { [$0] } ?? [])
    let columns = Self.columns(of: resolved.entity, window.schema)
    let (commit, count, hierarchy): (UInt64, Int, Int)
    let rows: [(key: UInt64, row: FetchedRow?)]
    let key = RowListing.Key(
      entity: resolved.entity.name, condition: question.condition, sort: sort, isExact: question.isExact)
    var first = resolved
    (first.offset, first.limit) = (offset, limit)
    if listings.find(key, store, at) == nil, try needsNoList(first, key, window) {
      (count, rows) = try request.asker.monitoring { monitor in
        (first.monitor, resolved.monitor) = (monitor, question.condition == nil ? nil : monitor)
        return (
          try window.reading.fetch(resolved, mode: .count).count,
          limit == 0 ? [] : try window.reading.fetch(first, mode: .rows).rows.map { ($0.primaryKey, $0) }
        )
      }
      (commit, hierarchy) = (number, resolved.hierarchyNumber)
    } else {
      let listing = try listings.listing(key, of: store, at: at, newest: number, for: request.asker) {
        resolved.monitor = $0
        // Of the newest commit, whichever was asked for: an older one cannot be had again.
        return RowListing(
          commit: number, hierarchy: resolved.hierarchyNumber,
          keys: try window.reading.fetch(resolved, mode: .identifiers).rows.map(\.primaryKey))
      }
      (commit, count, hierarchy) = (listing.commit, listing.keys.count, listing.hierarchy)
      let keys = Array(listing.keys.dropFirst(offset).prefix(limit))
      rows = Array(zip(keys, try window.reading.rows(hierarchy: hierarchy, primaryKeys: keys)))
    }
    return BrowseAnswer([
      "commit": .number(Int(commit)), "count": .number(count), "offset": .number(offset),
      "columns": .array(columns.map { Self.json(of: $0) }),
      "rows": .array(
        try rows.map { key, row in
          guard let row else { return ["gone": .string("\(resolved.entity.name)/p\(key)")] }
          return [
            "id": .string("\(window.schema.entities[row.entity].name)/p\(row.primaryKey)"),
            "cells": .array(try columns.map { try cell($0, row, window) }),
          ]
        }),
    ])
  }

  /// Whether a window near the beginning of a table is found for less than a list of all its rows, and in the order of that list: without an order rows come by their keys
  /// when there is no condition, and with one those that it does not tell apart always do.
  private func needsNoList(_ first: ResolvedFetchRequest, _ key: RowListing.Key, _ window: StoreWindow) throws
    -> Bool
  {
    guard key.sort != nil else { return key.condition == nil && first.offset <= Self.beginning }
    // The list of a small table costs little, and stays when somebody saves.
    guard try window.rowCount(of: first.hierarchyNumber) > Self.smallTable else { return false }
    let part = try window.reading.explain(first, mode: .rows, isExecuting: false)
    // An index has them in their order.
    if part?.access == .index, part?.isOrdered == true { return first.offset <= Self.beginning }
    // To find the smallest of all is less work than to sort all, but not to do so for each window.
    return key.condition == nil && first.offset == 0
  }

  /// How the table's rows are found.
  func plan(_ request: BrowseRequest, _ store: OpenStore) throws -> BrowseAnswer {
    let window = try store.window()
    let (question, sort) = try question(request)
    let resolved = try question.request(window, sort: sort.map { [$0] } ?? [])
    guard let part = try window.reading.explain(resolved, mode: .rows, isExecuting: false) else {
      throw Failure(.other, "The store does not tell how it executes requests.")
    }
    return BrowseAnswer(Explain.report(part))
  }

  private func question(_ request: BrowseRequest) throws -> (question: Question, sort: String?) {
    func given(_ key: String) -> String? {
      request.query[key].flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
    }
    let question = Question(
      store: path, entity: try request.text("entity"), condition: given("where"),
      isExact: request.query["exact"] == "1")
    return (question, given("sort"))
  }

  // MARK: Columns and cells

  /// Everything there is of the entity's objects; how many members to-many relationships have.
  static func columns(of entity: EntitySchema, _ schema: Schema) -> [Column] {
    let shape = EntityShape(entity, schema)
    return Column.all(of: shape).dropFirst()
      + shape.toMany.map { Column(name: $0.name, kind: .toMany($0), steps: []) }
  }

  private static func json(of column: Column) -> JSONValue {
    var (kind, canSort) = ("value", false)
    var type: String?
    switch column.kind {
    case .identifier: kind = "id"
    case .attribute(_, let attribute):
      type = "\(attribute)"
      canSort = ![.binaryData, .transformable, .composite, .undefined, .objectID].contains(attribute)
    case .toOne: kind = "one"
    case .toMany: kind = "many"
    }
    return [
      "name": .string(column.name), "kind": .string(kind), "type": .optional(type),
      "sorts": .boolean(canSort),
      "isNumber": .boolean(column.isNumber),
    ]
  }

  /// Null, a text, or for what is no text `{"size": bytes}`, `{"id": …, "label": …}`, `{"count": …}`.
  private func cell(_ column: Column, _ row: FetchedRow, _ window: StoreWindow) throws -> JSONValue {
    if case .attribute(let slot, _) = column.kind, let size = window.largeValueSize(of: row, slot) {
      // As it is not read, nobody knows what it is.
      return ["size": .number(size)]
    }
    switch try column.content(of: row, window) {
    case .value(.null): return .null
    case .value(.data(let data)): return ["size": .number(data.count)]
    case .value(let value):
      let text = ValueText.cell(value)
      return .string(text.count > Self.cellLength ? text.prefix(Self.cellLength) + "…" : text)
    case .identifier(let object): return try link(object, window)
    case .count(let count): return ["count": .number(count)]
    }
  }

  /// An object to follow: its name, and the first text that it has.
  func link(_ object: ObjectAddress, _ window: StoreWindow) throws -> JSONValue {
    guard let row = try window.row(object) else {
      return ["id": .string(Names.text(object, in: window.schema)), "label": .null, "isGone": true]
    }
    let entity = window.schema.entities[row.entity]
    var label: String?
    for attribute in entity.attributes
    where attribute.type == .string && attribute.relationship == nil && !attribute.isTransient {
      if window.largeValueSize(of: row, attribute.slot) != nil { continue }
      if case .string(let text) = try window.value(of: row, attribute.slot), !text.isEmpty {
        label = text.count > 60 ? text.prefix(60) + "…" : text
        break
      }
    }
    return ["id": .string("\(entity.name)/p\(row.primaryKey)"), "label": .optional(label)]
  }
}
