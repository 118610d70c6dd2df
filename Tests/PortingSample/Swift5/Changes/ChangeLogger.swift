//
//  ChangeLogger.swift
//  LedgerKit
//

import CoreData
import Foundation

/// Writes down what contexts do.
public final class ChangeLogger: NSObject, @unchecked Sendable {
  public static let shared = ChangeLogger()

  private let lock = NSLock()
  private var lines: [String] = []

  public func start(_ context: NSManagedObjectContext) {
    let center = NotificationCenter.default
    center.addObserver(
      self, name: .NSManagedObjectContextWillSave, object: context) { observer, _ in observer.willSave() }
    center.addObserver(self, name: .NSManagedObjectContextDidSave, object: context) { $0.didSave($1) }
    center.addObserver(
      self, name: .NSManagedObjectContextObjectsDidChange, object: context) { $0.didChange($1) }
  }

  public func stop() {
    NotificationCenter.default.removeObserver(self)
  }

  public func takeLines() -> [String] {
    lock.lock()
    defer { lock.unlock() }
    let taken = lines
    lines = []
    return taken
  }

  private func log(_ line: String) {
    lock.lock()
    lines.append(line)
    lock.unlock()
  }

  func willSave() {
    log("will save")
  }

  func didSave(_ notification: Notification) {
    guard let note = ContextDidSaveNotification(notification) else { return }
    log("saved \(Array(note.insertedObjects).count)/\(Array(note.updatedObjects).count)/\(Array(note.deletedObjects).count)")
  }

  func didChange(_ notification: Notification) {
    let inserted = notification.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject> ?? []
    let names = inserted.compactMap { $0.entity.name }.sorted()
    if !names.isEmpty {
      log("inserted \(names.joined(separator: ","))")
    }
  }
}

/// Steps that can be taken back.
public final class UndoCoordinator {
  private let context: NSManagedObjectContext
  public let undoManager: UndoManager

  public init(context: NSManagedObjectContext, levels: Int = 20) {
    self.context = context
    undoManager = UndoManager()
    undoManager.levelsOfUndo = levels
    undoManager.groupsByEvent = false
    context.undoManager = undoManager
  }

  public func step(_ name: String, _ block: () throws -> Void) rethrows {
    undoManager.beginUndoGrouping()
    undoManager.setActionName(name)
    defer {
      context.processPendingChanges()
      undoManager.endUndoGrouping()
    }
    try block()
  }

  public func undo() {
    context.undo()
  }

  public func redo() {
    context.redo()
  }

  public var canUndo: Bool { return undoManager.canUndo }
  public var canRedo: Bool { return undoManager.canRedo }
}

/// Merges a save's conflicts: what was typed here wins, except amounts, which are added up.
public final class LedgerMergePolicy: NSMergePolicy, @unchecked Sendable {
  public init() {
    super.init(merge: .mergeByPropertyObjectTrumpMergePolicyType)
  }

  public override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    for conflict in list {
      guard let account = conflict.sourceObject as? Account,
        let old = conflict.objectSnapshot?["note"] as? String,
        let stored = conflict.cachedSnapshot?["note"] as? String,
        let mine = account.note, old != stored, old != mine
      else { continue }
      account.note = stored + " / " + mine
    }
    try super.resolve(optimisticLockingConflicts: list)
  }

  public override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    for conflict in list {
      guard let existing = conflict.databaseObject as? Tag else { continue }
      for case let duplicate as Tag in conflict.conflictingObjects where duplicate !== existing {
        existing.color = duplicate.color
      }
    }
    try super.resolve(constraintConflicts: list)
  }
}
