//
//  Others.swift
//  LedgerKit
//

import CoreData
import Foundation

@objc(Person)
public class Person: NSManagedObject {
  @NSManaged public var email: String?
  @NSManaged public var familyName: String?
  @NSManaged public var givenName: String?
  @NSManaged public var photo: Data?
  @NSManaged public var website: URL?
  @NSManaged public var accounts: Set<Account>?

  @objc public var fullName: String {
    return [givenName, familyName].compactMap { $0 }.joined(separator: " ")
  }

  @nonobjc public class func fetchRequest() -> NSFetchRequest<Person> {
    return NSFetchRequest<Person>(entityName: "Person")
  }

  public override func validateForInsert() throws {
    try super.validateForInsert()
    try validateAddress()
  }

  public override func validateForUpdate() throws {
    try super.validateForUpdate()
    try validateAddress()
  }

  private func validateAddress() throws {
    guard let email = email else { return }
    if !email.contains("@") {
      throw LedgerError.make(.emptyName, object: self, key: #keyPath(Person.email))
    }
  }
}

@objc(Tag)
public class Tag: NSManagedObject {
  @NSManaged public var name: String
  @NSManaged public var color: Int32
  @NSManaged public var entries: NSSet?
  @NSManaged public var accounts: NSSet?

  @objc public var usage: Int { return (entries?.count ?? 0) + (accounts?.count ?? 0) }

  @nonobjc public class func fetchRequest() -> NSFetchRequest<Tag> {
    return NSFetchRequest<Tag>(entityName: "Tag")
  }
}

@objc(Attachment)
public class Attachment: NSManagedObject {
  @NSManaged public var fileName: String?
  @NSManaged public var bytes: Data?
  @NSManaged public var size: Int64
  @NSManaged public var entry: Entry?

  public override func willSave() {
    super.willSave()
    let count = Int64(bytes?.count ?? 0)
    if !isDeleted && size != count {
      size = count
    }
  }
}

/// What the library needs of an object that it can show in a list.
public protocol Displayable: AnyObject {
  var displayTitle: String { get }
  var displaySubtitle: String? { get }
}

extension Displayable {
  public var displaySubtitle: String? { return nil }
}

extension Account: Displayable {
  public var displayTitle: String { return name ?? "Untitled" }
  public var displaySubtitle: String? { return kind.title }
}

extension Entry: Displayable {
  public var displayTitle: String { return summary }
}

extension Person: Displayable {
  public var displayTitle: String { return fullName }
  public var displaySubtitle: String? { return email }
}

extension Tag: Displayable {
  public var displayTitle: String { return name }
}
