//
//  Entry.swift
//  LedgerKit
//

import CoreData
import Foundation

/// One line of an account.
@objc(Entry)
public class Entry: NSManagedObject {
  @NSManaged public var identifier: UUID?
  @NSManaged public var text: String?
  @NSManaged public var amount: NSDecimalNumber?
  @NSManaged public var bookedAt: Date
  @NSManaged public var flags: Int64
  @NSManaged public var account: Account?
  @NSManaged public var attachments: NSOrderedSet?
  @NSManaged public var tags: Set<Tag>
  @NSManaged public var related: NSManagedObject?
  @NSManaged fileprivate var primitiveBookedAt: Date?
  @NSManaged fileprivate var primitiveSectionIdentifier: String?

  public struct Flags: OptionSet, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    public static let cleared = Flags(rawValue: 1 << 0)
    public static let flagged = Flags(rawValue: 1 << 1)
    public static let imported = Flags(rawValue: 1 << 2)
  }

  public var options: Flags {
    get { return Flags(rawValue: flags) }
    set { flags = newValue.rawValue }
  }

  public init(text: String, amount: NSDecimalNumber, in account: Account, context: NSManagedObjectContext) {
    let entity = NSEntityDescription.entity(forEntityName: "Entry", in: context)!
    super.init(entity: entity, insertInto: context)
    self.text = text
    self.amount = amount
    self.account = account
  }

  @objc
  public override init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    super.init(entity: entity, insertInto: context)
  }

  public override func awakeFromInsert() {
    super.awakeFromInsert()
    primitiveBookedAt = Date()
    identifier = UUID()
  }

  public override func willSave() {
    super.willSave()
    if let text = text, text.hasPrefix(" ") {
      self.text = text.trimmingCharacters(in: .whitespaces)
    }
  }

  public override func prepareForDeletion() {
    super.prepareForDeletion()
    related = nil
  }

  /// The month of the entry, as sections of a list: kept in a transient attribute.
  @objc public var sectionIdentifier: String? {
    willAccessValue(forKey: "sectionIdentifier")
    var section = primitiveSectionIdentifier
    didAccessValue(forKey: "sectionIdentifier")
    if section == nil {
      var calendar = Calendar(identifier: .gregorian)
      calendar.timeZone = TimeZone(secondsFromGMT: 0)!
      let parts = calendar.dateComponents([.year, .month], from: bookedAt)
      section = String(format: "%04d-%02d", parts.year ?? 0, parts.month ?? 0)
      primitiveSectionIdentifier = section
    }
    return section
  }

  @objc public dynamic var isIncome: Bool {
    return (amount ?? .zero).compare(NSDecimalNumber.zero) == .orderedDescending
  }

  @objc public var accountName: String? { return account?.name }

  @objc public class func keyPathsForValuesAffectingAccountName() -> Set<String> {
    return [#keyPath(Entry.account.name)]
  }
}

// MARK: Generated accessors for attachments
extension Entry {

  @objc(insertObject:inAttachmentsAtIndex:)
  @NSManaged public func insertIntoAttachments(_ value: Attachment, at idx: Int)

  @objc(removeObjectFromAttachmentsAtIndex:)
  @NSManaged public func removeFromAttachments(at idx: Int)

  @objc(addAttachmentsObject:)
  @NSManaged public func addToAttachments(_ value: Attachment)

  @objc(addAttachments:)
  @NSManaged public func addToAttachments(_ values: NSOrderedSet)

}

extension Entry {
  @nonobjc public class func fetchRequest() -> NSFetchRequest<Entry> {
    return NSFetchRequest<Entry>(entityName: "Entry")
  }

  @objc public var summary: String {
    return "\(text ?? "") \(amount ?? .zero)"
  }
}
