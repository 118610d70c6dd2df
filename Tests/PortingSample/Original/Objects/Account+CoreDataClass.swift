//
//  Account+CoreDataClass.swift
//  LedgerKit
//

import CoreData
import Foundation

@objc public enum AccountKind: Int16, CaseIterable {
  case checking = 0
  case savings
  case credit

  public var title: String {
    switch self {
    case .checking: return "Checking"
    case .savings: return "Savings"
    case .credit: return "Credit"
    }
  }
}

@objc(Account)
public class Account: NSManagedObject {

  public convenience init(name: String, kind: AccountKind, context: NSManagedObjectContext) {
    self.init(context: context)
    self.name = name
    self.kind = kind
  }

  public override func awakeFromInsert() {
    super.awakeFromInsert()
    setPrimitiveValue(UUID(), forKey: #keyPath(Account.identifier))
    setPrimitiveValue(Date(), forKey: #keyPath(Account.createdAt))
  }

  public var kind: AccountKind {
    get { return AccountKind(rawValue: kindValue) ?? .checking }
    set { kindValue = newValue.rawValue }
  }

  /// What the sections of a list are called.
  @objc public var kindTitle: String {
    return kind.title
  }

  /// All that was put in, less what was taken out.
  @objc public var balance: NSDecimalNumber {
    return entries?.value(forKeyPath: "@sum.amount") as? NSDecimalNumber ?? .zero
  }

  @objc public var initial: String {
    guard let first = name?.first else { return "#" }
    return String(first).uppercased()
  }

  @objc public func validateName(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {
    guard let name = value.pointee as? String else { return }
    let trimmed = name.trimmingCharacters(in: .whitespacesAndNewlines)
    if trimmed.isEmpty {
      throw LedgerError.make(.emptyName, object: self, key: "name")
    }
    if trimmed != name {
      value.pointee = trimmed as NSString
    }
  }

  public override func validateForDelete() throws {
    try super.validateForDelete()
    if isLocked {
      throw LedgerError.make(.lockedAccount, object: self, key: "isLocked")
    }
  }

  @objc public class func keyPathsForValuesAffectingKindTitle() -> Set<String> {
    return ["kindValue"]
  }
}

/// The library's own errors.
public enum LedgerError: Int {
  case emptyName = 1
  case lockedAccount
  case unbalanced

  public static let domain = "LedgerKit.LedgerError"

  static func make(_ code: LedgerError, object: NSManagedObject, key: String) -> NSError {
    return NSError(
      domain: domain, code: code.rawValue,
      userInfo: [
        NSValidationObjectErrorKey: object,
        NSValidationKeyErrorKey: key,
        NSLocalizedDescriptionKey: "\(object.entity.name ?? "").\(key) is not valid.",
      ])
  }
}
