//
//  BatchImporter.swift
//  LedgerKit
//

import CoreData
import Foundation

public struct ImportedTag: Codable, Equatable {
  public var name: String
  public var color: Int32

  public init(name: String, color: Int32) {
    self.name = name
    self.color = color
  }

  var dictionary: [String: Any] { return ["name": name, "color": color] }
}

public struct ImportReport: Equatable {
  public var inserted = 0
  public var skipped = 0
  public var batches = 0
}

/// Brings many records into a store.
public final class BatchImporter {
  private let context: NSManagedObjectContext
  private let batchSize: Int
  public private(set) var report = ImportReport()

  public init(context: NSManagedObjectContext, batchSize: Int = 100) {
    self.context = context
    self.batchSize = batchSize
  }

  /// Dictionaries, one batch.
  @discardableResult
  public func importTags(_ tags: [ImportedTag]) throws -> Int {
    let request = NSBatchInsertRequest(entityName: Tag.entityName, objects: tags.map { $0.dictionary })
    request.resultType = .count
    let result = try context.execute(request) as? NSBatchInsertResult
    let count = result?.result as? Int ?? 0
    report.inserted += count
    report.batches += 1
    return count
  }

  /// A handler that fills in one dictionary after another.
  @discardableResult
  public func streamTags(_ tags: [ImportedTag]) throws -> [NSManagedObjectID] {
    var index = 0
    let total = tags.count
    let request = NSBatchInsertRequest(
      entity: Tag.entity(),
      dictionaryHandler: { dictionary in
        guard index < total else { return true }
        dictionary.addEntries(from: tags[index].dictionary)
        index += 1
        return false
      })
    request.resultType = .objectIDs
    let result = try context.execute(request) as? NSBatchInsertResult
    let ids = result?.result as? [NSManagedObjectID] ?? []
    report.inserted += ids.count
    report.batches += 1
    NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSInsertedObjectsKey: ids], into: [context])
    return ids
  }

  /// A handler that fills in one object after another.
  public func fillTags(_ tags: [ImportedTag]) throws {
    var iterator = tags.makeIterator()
    let request = NSBatchInsertRequest(entityName: "Tag", managedObjectHandler: { object in
      guard let tag = object as? Tag, let next = iterator.next() else { return true }
      tag.name = next.name
      tag.color = next.color
      return false
    })
    request.resultType = .statusOnly
    let result = try context.execute(request) as? NSBatchInsertResult
    if result?.result as? Bool == true {
      report.batches += 1
    }
  }

  /// Objects, saved and forgotten batch by batch.
  public func importEntries(_ lines: [(text: String, amount: Double)], into accountID: NSManagedObjectID) throws {
    var start = 0
    while start < lines.count {
      let end = min(start + batchSize, lines.count)
      try autoreleasepool {
        guard let account = try context.existingObject(with: accountID) as? Account else {
          report.skipped += end - start
          return
        }
        for line in lines[start..<end] {
          let entry = Entry(text: line.text, amount: NSDecimalNumber(value: line.amount), in: account, context: context)
          entry.options = [.imported]
        }
        try context.save()
        context.reset()
        report.inserted += end - start
        report.batches += 1
      }
      start = end
    }
  }

  /// JSON, with records that exist already brought up to date.
  public func importTags(json data: Data) throws {
    let decoder = JSONDecoder()
    let tags = try decoder.decode([ImportedTag].self, from: data)
    for tag in tags {
      let predicate = NSPredicate(format: "%K ==[c] %@", "name", tag.name)
      let object = try Tag.findOrCreate(in: context, matching: predicate) { new in
        new.name = tag.name
        report.inserted += 1
      }
      if object.color != tag.color {
        object.color = tag.color
      } else {
        report.skipped += 1
      }
    }
    try context.saveIfNeeded()
  }
}
