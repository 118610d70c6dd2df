//
//  Account+CoreDataProperties.swift
//  LedgerKit
//

import CoreData
import Foundation

extension Account {

  @nonobjc public class func fetchRequest() -> NSFetchRequest<Account> {
    return NSFetchRequest<Account>(entityName: "Account")
  }

  @NSManaged public var identifier: UUID?
  @NSManaged public var name: String?
  @NSManaged public var createdAt: Date?
  @NSManaged public var isLocked: Bool
  @NSManaged public var kindValue: Int16
  @NSManaged public var limit: NSDecimalNumber?
  @NSManaged public var note: String?
  @NSManaged public var entries: NSSet?
  @NSManaged public var owner: Person?
  @NSManaged public var tags: NSSet?

}

// MARK: Generated accessors for entries
extension Account {

  @NSManaged public func addToEntries(_ value: Entry)

  @NSManaged public func removeFromEntries(_ value: Entry)

  @NSManaged public func addToEntries(_ values: NSSet)

  @NSManaged public func removeFromEntries(_ values: NSSet)

}

// MARK: Generated accessors for tags
extension Account {

  @NSManaged public func addToTags(_ value: Tag)

  @NSManaged public func removeFromTags(_ value: Tag)

  @NSManaged public func addToTags(_ values: NSSet)

  @NSManaged public func removeFromTags(_ values: NSSet)

}

extension Account: Identifiable {

}
