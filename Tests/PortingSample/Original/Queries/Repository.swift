//
//  Repository.swift
//  LedgerKit
//

import CoreData
import Foundation

/// What every repository can do.
public protocol RepositoryType {
  associatedtype Object: NSManagedObject
  var context: NSManagedObjectContext { get }
  func all() throws -> [Object]
  func find(_ id: NSManagedObjectID) throws -> Object?
  func create(_ configure: (Object) throws -> Void) throws -> Object
  func delete(_ object: Object) throws
}

public enum RepositoryError: Error, Equatable {
  case wrongContext
  case notFound
  case invalid(String)
}

/// The objects of one class.
open class Repository<Object: NSManagedObject>: RepositoryType {
  public let context: NSManagedObjectContext
  private let sortDescriptors: [NSSortDescriptor]

  public init(context: NSManagedObjectContext, sortDescriptors: [NSSortDescriptor] = []) {
    self.context = context
    self.sortDescriptors = sortDescriptors
  }

  open func makeRequest() -> NSFetchRequest<Object> {
    let request = NSFetchRequest<Object>(entityName: Object.lk_entityName())
    request.sortDescriptors = sortDescriptors
    return request
  }

  open func all() throws -> [Object] {
    return try perform { try self.context.fetch(self.makeRequest()) }
  }

  open func all(where condition: Condition<Object>) throws -> [Object] {
    return try perform {
      let request = self.makeRequest()
      request.predicate = condition.predicate
      return try self.context.fetch(request)
    }
  }

  open func find(_ id: NSManagedObjectID) throws -> Object? {
    return try perform { try self.context.existingObject(with: id) as? Object }
  }

  open func get(_ id: NSManagedObjectID) throws -> Object {
    do {
      guard let object = try find(id) else { throw RepositoryError.notFound }
      return object
    } catch let error as NSError where error.code == NSManagedObjectReferentialIntegrityError {
      throw RepositoryError.notFound
    }
  }

  @discardableResult
  open func create(_ configure: (Object) throws -> Void) throws -> Object {
    return try perform {
      let object = Object(context: self.context)
      do {
        try configure(object)
        try self.context.save()
      } catch {
        self.context.rollback()
        throw Repository.translated(error)
      }
      return object
    }
  }

  open func update(_ object: Object, _ change: (Object) throws -> Void) throws {
    guard object.managedObjectContext === context else { throw RepositoryError.wrongContext }
    try perform {
      do {
        try change(object)
        try self.context.saveIfNeeded()
      } catch {
        self.context.refresh(object, mergeChanges: false)
        throw Repository.translated(error)
      }
    }
  }

  open func delete(_ object: Object) throws {
    guard object.managedObjectContext === context else { throw RepositoryError.wrongContext }
    try perform {
      self.context.delete(object)
      do {
        try self.context.save()
      } catch {
        self.context.rollback()
        throw Repository.translated(error)
      }
    }
  }

  /// Runs a block on the context's queue, and returns its value.
  public func perform<T>(_ block: () throws -> T) throws -> T {
    var result: Result<T, Error>!
    context.performAndWait {
      result = Result { try block() }
    }
    return try result.get()
  }

  /// The first sentence of what is not valid.
  static func translated(_ error: Error) -> Error {
    let error = error as NSError
    guard error.domain == NSCocoaErrorDomain else { return error }
    switch error.code {
    case NSValidationMultipleErrorsError:
      let all = error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? []
      let keys = all.compactMap { $0.userInfo[NSValidationKeyErrorKey] as? String }
      return RepositoryError.invalid(keys.sorted().joined(separator: ","))
    case NSValidationMissingMandatoryPropertyError, NSValidationStringTooShortError, NSValidationStringTooLongError,
      NSValidationNumberTooLargeError, NSValidationNumberTooSmallError:
      return RepositoryError.invalid(error.userInfo[NSValidationKeyErrorKey] as? String ?? "?")
    case NSManagedObjectConstraintMergeError:
      let conflicts = error.userInfo["conflictList"] as? [NSConstraintConflict] ?? []
      return RepositoryError.invalid(conflicts.flatMap { $0.constraint }.joined(separator: ","))
    default:
      return error
    }
  }
}

public final class AccountRepository: Repository<Account> {
  public convenience init(context: NSManagedObjectContext) {
    self.init(context: context, sortDescriptors: Account.defaultSortDescriptors)
  }

  public func account(named name: String) throws -> Account? {
    return try all(where: Account.Keys.name == name).first
  }

  public func locked() throws -> [Account] {
    return try all(where: Account.Keys.isLocked == true)
  }

  @discardableResult
  public func book(_ text: String, _ amount: String, in account: Account) throws -> Entry {
    var entry: Entry!
    try update(account) { account in
      entry = Entry(text: text, amount: NSDecimalNumber(string: amount), in: account, context: context)
    }
    return entry
  }
}
